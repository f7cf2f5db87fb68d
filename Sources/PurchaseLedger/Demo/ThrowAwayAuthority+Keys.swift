import Crypto
import Support

extension ThrowAwayAuthority {
  /// What signing takes, for a made-up store that outlives a process: base64 of the leaf's key and of the three certificates.
  package struct Keys: Sendable, Hashable, Codable {
    package var leafKey: String
    package var leaf: String
    package var intermediate: String
    package var root: String
  }

  package var keys: Keys {
    func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
    return Keys(
      leafKey: text(Array(leafKey.rawRepresentation)), leaf: text(leafCertificate),
      intermediate: text(intermediateCertificate), root: text(rootCertificate))
  }

  /// - Throws: `LedgerError` with code `input` when they are none.
  package init(_ keys: Keys) throws {
    func bytes(_ text: String) throws -> [UInt8] {
      guard let bytes = Base64.decode(Array(text.utf8)) else {
        throw LedgerError(.input, at: "the made-up store's keys", "are not base64")
      }
      return bytes
    }
    leafKey = try P256.Signing.PrivateKey(rawRepresentation: try bytes(keys.leafKey))
    leafCertificate = try bytes(keys.leaf)
    intermediateCertificate = try bytes(keys.intermediate)
    rootCertificate = try bytes(keys.root)
    encodedHeader = Base64.encodeURL(
      Self.header(certificates: [leafCertificate, intermediateCertificate, rootCertificate]))
  }
}
