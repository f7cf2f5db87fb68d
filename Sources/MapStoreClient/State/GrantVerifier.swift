import MapStoreWire
import Support
import Synchronization

#if canImport(CryptoKit)
  import CryptoKit
#else
  import CHogweed
#endif

/// Verifies grant documents.
struct GrantVerifier: Sendable {
  /// Ed25519 keys by their ids.
  private let keys: [String: Ed25519Key]

  /// - Parameter keys: the trusted keys; those that are not Ed25519 keys are ignored.
  init(_ keys: [GrantKey]) {
    var trusted: [String: Ed25519Key] = [:]
    for key in keys where key.algorithm == "Ed25519" {
      guard let bytes = Base64URL.decode(key.publicKey) else { continue }
      trusted[key.keyId] = Ed25519Key(bytes)
    }
    self.keys = trusted
  }

  /// - Throws: ``MapStoreError`` `.grant` if the document does not verify.
  func document(_ signed: SignedGrants) throws -> GrantDocument {
    func refused(_ why: String) -> MapStoreError {
      MapStoreError(.grant, "grants", why, remedy: "fetch them again")
    }
    guard let key = keys[signed.keyId] else { throw refused("are signed with a key that is not trusted") }
    guard let payload = Base64URL.decode(signed.payload), let signature = Base64URL.decode(signed.signature),
      key.isValid(signature, of: SignedGrants.signedBytes(of: payload))
    else { throw refused("have an invalid signature") }
    let document: GrantDocument
    do {
      document = try WireJSON.decode(GrantDocument.self, from: payload)
      try document.check()
    } catch {
      throw refused("cannot be understood: \(error)")
    }
    guard document.version == GrantDocument.versionNow else {
      throw refused("are of version \(document.version), and only \(GrantDocument.versionNow) is supported")
    }
    return document
  }
}

/// The keys that are trusted now; they can change while the app runs.
final class TrustedKeys: Sendable {
  private let keys: Mutex<[GrantKey]>

  init(_ keys: [GrantKey]) { self.keys = Mutex(keys) }

  var current: [GrantKey] {
    get { keys.withLock { $0 } }
    set { keys.withLock { $0 = newValue } }
  }
}

/// A public key of Ed25519 (RFC 8032): of CryptoKit on Apple's platforms, of nettle elsewhere.
private struct Ed25519Key: Sendable {
  #if canImport(CryptoKit)
    private let key: Curve25519.Signing.PublicKey
  #else
    private let key: [UInt8]
  #endif

  /// - Parameter bytes: nil unless they are 32.
  init?(_ bytes: [UInt8]) {
    #if canImport(CryptoKit)
      guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else { return nil }
      self.key = key
    #else
      guard bytes.count == ED25519_KEY_SIZE else { return nil }
      key = bytes
    #endif
  }

  func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    #if canImport(CryptoKit)
      key.isValidSignature(signature, for: message)
    #else
      signature.count == ED25519_SIGNATURE_SIZE
        && nettle_ed25519_sha512_verify(key, message.count, message, signature) == 1
    #endif
  }
}
