/// Who sold: part of every key of the ledger.
public enum Store: String, Sendable, Hashable, CaseIterable, Comparable, Codable {
  case apple
  case google

  /// The integer in the database and in hashed bytes; never renumbered.
  public var code: UInt8 {
    switch self {
    case .apple: 1
    case .google: 2
    }
  }

  public init?(code: UInt8) {
    switch code {
    case 1: self = .apple
    case 2: self = .google
    default: return nil
    }
  }

  public static func < (a: Self, b: Self) -> Bool { a.code < b.code }
}
