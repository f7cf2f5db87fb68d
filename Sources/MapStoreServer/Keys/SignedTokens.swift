import Crypto
import PurchaseLedger
import Support

/// Secrets that sign download links and device tokens (HMAC-SHA-256). The first signs, all verify: for a rotation, a
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

/// Tokens that identify a device at its next sign-in to the same account. Attempts of known devices have a limit of
/// their own, so that an attacker who knows a login cannot lock out its owner.
///
/// The server stores nothing about them. A token names its account, and is useless without the password.
struct DeviceTokens: Sendable {
  struct Device: Sendable, Hashable {
    /// Random; made at the device's first sign-in.
    let id: String
    let account: AccountID
  }

  private let keys: HMACKeys
  /// A year. A device that has not signed in for longer is unknown again.
  private static let lastingMilliseconds: Int64 = 365 * 86_400_000

  init(secret: [UInt8]) { keys = HMACKeys(secrets: [SymmetricKey(data: secret)]) }

  static func newDevice(of account: AccountID) -> Device {
    Device(id: String(UInt64.random(in: .min ... .max), radix: 36), account: account)
  }

  func token(of device: Device, now: Int64) -> String {
    let text = "1.\(device.account).\(device.id).\(now)"
    return "\(text).\(keys.signature(of: Self.signed(text)))"
  }

  /// The device of a token; nil if the token is not signed here, or too old.
  func device(_ token: String, now: Int64) -> Device? {
    guard token.utf8.count <= 256, let end = token.lastIndex(of: ".") else { return nil }
    let text = String(token[..<end])
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, keys.isSigned(Self.signed(text), by: keys.signingID, String(token[end...].dropFirst())),
      let account = AccountID(String(parts[1])), let since = Int64(parts[3]), now - since < Self.lastingMilliseconds
    else { return nil }
    return Device(id: String(parts[2]), account: account)
  }

  private static func signed(_ text: String) -> String { "map-store device\n\(text)" }
}
