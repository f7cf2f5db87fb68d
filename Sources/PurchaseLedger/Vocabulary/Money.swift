/// An amount as stores state it: thousandths of the currency's main unit (10990 is 10.99 USD).
public struct Money: Sendable, Hashable, Codable {
  public var milliunits: Int64
  /// ISO 4217, upper case.
  public var currency: String

  public init(milliunits: Int64, currency: String) {
    self.milliunits = milliunits
    self.currency = currency
  }
}

extension Money: Comparable {
  public static func < (a: Self, b: Self) -> Bool {
    a.milliunits == b.milliunits
      ? a.currency.utf8.lexicographicallyPrecedes(b.currency.utf8) : a.milliunits < b.milliunits
  }
}
