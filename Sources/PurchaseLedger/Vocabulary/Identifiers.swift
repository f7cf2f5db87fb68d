public import Foundation

/// An account of ours, pseudonymous: all that events say about a person.
public struct AccountID: Sendable, Hashable, Codable, CustomStringConvertible {
  public let uuid: UUID

  public init(_ uuid: UUID) { self.uuid = uuid }

  /// Reads the printed form of a UUID.
  public init?(_ text: String) {
    guard let uuid = UUID(printed: text) else { return nil }
    self.init(uuid)
  }

  public var description: String { uuid.uuidString.lowercased() }
}

/// Apple's `appAccountToken`, Google's `obfuscatedExternalAccountId`: random, one for each account.
public struct AccountToken: Sendable, Hashable, Codable, CustomStringConvertible {
  public let uuid: UUID

  public init(_ uuid: UUID) { self.uuid = uuid }

  /// Reads the printed form of a UUID, in either case.
  public init?(_ text: String) {
    guard let uuid = UUID(printed: text) else { return nil }
    self.init(uuid)
  }

  public var description: String { uuid.uuidString.lowercased() }
}

extension AccountID {
  static func random() -> Self { Self(UUID()) }
}

extension AccountToken {
  static func random() -> Self { Self(UUID()) }
}
