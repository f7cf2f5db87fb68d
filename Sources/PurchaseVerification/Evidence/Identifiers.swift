import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The app store that sold the product; part of every transaction's key.
public enum Store: String, Sendable, Hashable, CaseIterable, Comparable, Codable {
  /// The App Store.
  case apple
  /// Google Play.
  case google

  /// The integer stored in the database and in hashed bytes. Never renumber.
  public var code: UInt8 {
    switch self {
    case .apple: 1
    case .google: 2
    }
  }

  /// The store of a code in the database; nil for others.
  package init?(code: UInt8) {
    switch code {
    case 1: self = .apple
    case 2: self = .google
    default: return nil
    }
  }

  public static func < (a: Self, b: Self) -> Bool { a.code < b.code }
}

/// The store environment of a transaction. Unknown environments keep their raw text and are never recorded.
public struct StoreEnvironment: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Real purchases.
  public static let production = Self(rawValue: "Production")
  /// Test purchases.
  public static let sandbox = Self(rawValue: "Sandbox")
  /// Purchases of Xcode's local store, which Apple does not sign.
  package static let xcode = Self(rawValue: "Xcode")
  /// Purchases of StoreKit's local tests, which Apple does not sign.
  package static let localTesting = Self(rawValue: "LocalTesting")

  /// The integer stored in the database and in hashed bytes; nil for environments that are never recorded. Never
  /// renumber.
  public var code: UInt8? {
    switch self {
    case .production: 1
    case .sandbox: 2
    default: nil
    }
  }

  /// The environment of a code in the database; nil for others.
  package init?(code: UInt8) {
    switch code {
    case 1: self = .production
    case 2: self = .sandbox
    default: return nil
    }
  }

  /// Signed on a developer's machine, not by the store.
  package var isLocalTest: Bool { self == .xcode || self == .localTesting }

  /// Reads `Production`, `PROD` (old notifications) and known names in any case; other text is kept unchanged.
  package init(storeText text: String) {
    switch text.lowercased() {
    case "production", "prod": self = .production
    case "sandbox": self = .sandbox
    case "xcode": self = .xcode
    case "localtesting": self = .localTesting
    default: self.init(rawValue: text)
    }
  }

  public var description: String { rawValue }
}

/// Identifies a transaction of a store or, with an original transaction's id, a grant.
public struct TransactionKey: Sendable, Hashable, Codable {
  /// The store that sold it.
  public var store: Store
  /// Where it was sold.
  public var environment: StoreEnvironment
  /// The store's id.
  public var id: String

  /// The key of a store's transaction.
  public init(store: Store, environment: StoreEnvironment, id: String) {
    self.store = store
    self.environment = environment
    self.id = id
  }
}

/// The random token that the app passes to the store for an account: Apple's `appAccountToken`, Google's
/// `obfuscatedExternalAccountId`.
public struct AccountToken: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The value that the stores sign.
  public let uuid: UUID

  /// A token of this value.
  public init(_ uuid: UUID) { self.uuid = uuid }

  /// Parses the printed form of a UUID, in either case.
  public init?(_ text: String) {
    guard let uuid = UUID(printed: text) else { return nil }
    self.init(uuid)
  }

  package static func random() -> Self { Self(UUID()) }

  /// Whether it is the nil UUID, which client libraries send for no token.
  package var isNil: Bool { uuid == Self.nilUUID }

  private static let nilUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  public var description: String { uuid.uuidString.lowercased() }
}

extension UUID {
  /// Reads the printed form, in either case: 8, 4, 4, 4 and 12 hexadecimal digits. A twentieth of the time that
  /// Foundation takes.
  package init?(printed text: String) {
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    guard text.utf8.count == 36 else { return nil }
    let isRead = withUnsafeMutableBytes(of: &bytes) { bytes in
      var digits = 0
      for (index, byte) in text.utf8.enumerated() {
        if index == 8 || index == 13 || index == 18 || index == 23 {
          guard byte == UInt8(ascii: "-") else { return false }
          continue
        }
        guard let digit = Hexadecimal.value(byte) else { return false }
        bytes[digits / 2] = bytes[digits / 2] << 4 | digit
        digits += 1
      }
      return true
    }
    guard isRead else { return nil }
    self.init(uuid: bytes)
  }
}
