import Crypto
import MapStoreWire
import PurchaseLedger
import Support

/// Signs the grants that devices keep for times without network (docs/reference/store.md, Grants).
struct GrantSigner: Sendable {
  private let keys: [Curve25519.Signing.PrivateKey]

  /// - Throws: ``StoreError`` for a file that is missing or holds no Ed25519 key.
  init(files: [String]) throws {
    keys = files.isEmpty ? [Curve25519.Signing.PrivateKey()] : try files.map(Self.key)
  }

  private static func key(_ path: String) throws -> Curve25519.Signing.PrivateKey {
    let bytes = try KeyFile.bytes(path)
    // The 32 bytes of the key, or PKCS#8 (RFC 8410, section 7), which ends with them, as DER or PEM.
    var seed: [UInt8]? = bytes.count == 32 ? bytes : nil
    if seed == nil, let der = DERText.decode(bytes), der.count == 48 { seed = Array(der.suffix(32)) }
    guard let seed, let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else {
      throw StoreError(
        .unreadableInput, at: path, "holds no Ed25519 key",
        remedy: "make one under a new name: openssl genpkey -algorithm ed25519 -out NEW-FILE")
    }
    return key
  }

  var published: GrantKeys {
    GrantKeys(
      keys: keys.map { key in
        let bytes = Array(key.publicKey.rawRepresentation)
        return GrantKey(keyId: Self.id(of: bytes), algorithm: "Ed25519", publicKey: Base64.encodeURLText(bytes))
      })
  }

  func sign(_ document: GrantDocument) throws -> SignedGrants {
    let payload = try WireJSON.encode(document)
    let signature = try keys[0].signature(for: SignedGrants.signedBytes(of: payload))
    return SignedGrants(
      payload: Base64.encodeURLText(payload), signature: Base64.encodeURLText(Array(signature)),
      keyId: Self.id(of: Array(keys[0].publicKey.rawRepresentation)))
  }

  private static func id(of publicKey: [UInt8]) -> String { Hexadecimal.text(SHA256.hash(data: publicKey).prefix(8)) }
}
