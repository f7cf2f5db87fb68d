import Crypto
import MapStoreWire
import Support

/// Tells the server's grant documents from others.
struct GrantVerifier: Sendable {
  /// Ed25519 keys by their ids.
  private let keys: [String: Curve25519.Signing.PublicKey]

  /// - Parameter keys: those that the app trusts; what is no Ed25519 key is left out.
  init(_ keys: [GrantKey]) {
    var trusted: [String: Curve25519.Signing.PublicKey] = [:]
    for key in keys where key.algorithm == "Ed25519" {
      guard let bytes = Base64URL.decode(key.publicKey) else { continue }
      trusted[key.keyId] = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
    }
    self.keys = trusted
  }

  /// - Throws: ``MapStoreError`` `.grant` for any other document.
  func document(_ signed: SignedGrants) throws -> GrantDocument {
    func refused(_ why: String) -> MapStoreError {
      MapStoreError(.grant, "grants", why, remedy: "ask the server for them again")
    }
    guard let key = keys[signed.keyId] else { throw refused("are signed with a key that is not trusted here") }
    guard let payload = Base64URL.decode(signed.payload), let signature = Base64URL.decode(signed.signature),
      key.isValidSignature(signature, for: SignedGrants.signedBytes(of: payload))
    else { throw refused("are not as the server signed them") }
    let document: GrantDocument
    do {
      document = try WireJSON.decode(GrantDocument.self, from: payload)
      try document.check()
    } catch {
      throw refused("cannot be understood: \(error)")
    }
    guard document.version == GrantDocument.versionNow else {
      throw refused("are of version \(document.version), and only \(GrantDocument.versionNow) is known here")
    }
    return document
  }
}
