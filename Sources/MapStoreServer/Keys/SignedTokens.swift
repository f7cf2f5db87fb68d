import Crypto
import Support

/// Secrets that sign download links (HMAC-SHA-256). The first signs, all verify: for a rotation, a
/// new secret is put first until what the old one signed has expired.
struct HMACKeys: Sendable {
  private struct Key: Sendable {
    let id: String
    let secret: SymmetricKey
  }

  private let keys: [Key]

  /// - Throws: ``StoreError`` for a file that cannot be read or has less than 32 bytes.
  init(files: [String]) throws {
    if files.isEmpty {
      self.init(secrets: [SymmetricKey(size: .bits256)])
      return
    }
    self.init(
      secrets: try files.map { path in
        let bytes = try KeyFile.bytes(path)
        guard bytes.count >= 32 else {
          throw StoreError(
            .unreadableInput, at: path, "holds \(bytes.count) bytes, too few for a key",
            remedy: "make one under a new name: openssl rand -out NEW-FILE 32")
        }
        return SymmetricKey(data: bytes)
      })
  }

  init(secrets: [SymmetricKey]) {
    keys = secrets.map { secret in
      Key(id: Hexadecimal.text(Self.code("map-store link key 1", secret).prefix(4)), secret: secret)
    }
  }

  /// The id of the key that signs.
  var signingID: String { keys[0].id }

  /// The signature of a text, in hexadecimal digits.
  func signature(of text: String) -> String { Hexadecimal.text(Self.code(text, keys[0].secret)) }

  /// Whether a signature was made with one of the keys; compares in constant time.
  func isSigned(_ text: String, by id: String, _ signature: String) -> Bool {
    guard let key = keys.first(where: { $0.id == id }) else { return false }
    let digits = Hexadecimal.text(Self.code(text, key.secret)).utf8
    guard digits.count == signature.utf8.count else { return false }
    return zip(digits, signature.utf8).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func code(_ text: String, _ secret: SymmetricKey) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: secret)
  }
}
