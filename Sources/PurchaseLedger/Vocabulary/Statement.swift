/// The state that a fact gives a transaction. The order decides between facts signed at the same time.
public enum Statement: UInt8, Sendable, Hashable, Codable, Comparable, CaseIterable {
  case pending = 0
  case purchased = 1
  case revoked = 2
  /// The store took a refund back.
  case reversed = 3

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
