import Crypto
import Support

/// What a signed-in client shows: 32 random bytes as base64url. The ledger keeps only their SHA-256.
public struct SessionToken: Sendable, Hashable, CustomStringConvertible {
  public let text: String

  /// A token as a client sent it; any text, which is looked up and not parsed.
  public init(_ text: String) { self.text = text }

  static func random() -> Self {
    Self(Base64.encodeURLText([UInt8].random(count: 32)))
  }

  var sha256: [UInt8] { [UInt8](SHA256.hash(data: Array(text.utf8))) }

  /// Does not show the token: descriptions end up in logs.
  public var description: String { "SessionToken" }
}
