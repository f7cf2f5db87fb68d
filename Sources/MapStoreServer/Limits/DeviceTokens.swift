import Crypto
import PurchaseLedger

/// Tokens by which a device that has signed in to an account is known when it does so again: who knows a login can use up the attempts of strangers, and not those of its owner's devices.
///
/// Nothing is kept of them. One says which account it is good for; without the password it opens nothing.
struct DeviceTokens: Sendable {
  struct Device: Sendable, Hashable {
    /// Random; made at the device's first sign-in.
    let id: String
    let account: AccountID
  }

  private let keys: LinkKeys
  /// A year: whoever has not signed in for longer is a stranger again.
  private static let lastingMilliseconds: Int64 = 365 * 86_400_000

  init(secret: [UInt8]) { keys = LinkKeys(secrets: [SymmetricKey(data: secret)]) }

  static func newDevice(of account: AccountID) -> Device {
    Device(id: String(UInt64.random(in: .min ... .max), radix: 36), account: account)
  }

  func token(of device: Device, now: Int64) -> String {
    let text = "1.\(device.account).\(device.id).\(now)"
    return "\(text).\(keys.signature(of: Self.signed(text)))"
  }

  /// The device of a token; nil when it is none of ours, or too old.
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
