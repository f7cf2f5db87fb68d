/// Where a deal was made. Values that this version does not know keep their raw text; they are never booked.
public struct StoreEnvironment: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let production = Self(rawValue: "Production")
  public static let sandbox = Self(rawValue: "Sandbox")
  public static let xcode = Self(rawValue: "Xcode")
  public static let localTesting = Self(rawValue: "LocalTesting")

  /// The integer in the database and in hashed bytes, nil for what is never booked. Never renumbered.
  public var code: UInt8? {
    switch self {
    case .production: 1
    case .sandbox: 2
    default: nil
    }
  }

  public init?(code: UInt8) {
    switch code {
    case 1: self = .production
    case 2: self = .sandbox
    default: return nil
    }
  }

  /// Signed on a developer's machine, not by a store.
  public var isLocalTest: Bool { self == .xcode || self == .localTesting }

  /// Reads `Production`, `PROD` (old notifications) and any case of a known name; others are kept as they are.
  public init(storeText text: String) {
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
