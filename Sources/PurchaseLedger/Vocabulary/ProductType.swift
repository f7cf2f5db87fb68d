/// What kind of product was sold, in Apple's words; other texts are kept as they came.
public struct ProductType: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Old receipts and answers do not say it.
  public static let unknown = Self(rawValue: "")
  public static let nonConsumable = Self(rawValue: "Non-Consumable")
  public static let consumable = Self(rawValue: "Consumable")
  public static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")
  public static let nonRenewing = Self(rawValue: "Non-Renewing Subscription")

  public var isSubscription: Bool { self == .autoRenewable || self == .nonRenewing }
}

extension ProductType: Comparable {
  /// The order of the fold: where two sources disagree the greater one holds, so that what does not grant wins.
  public static func < (a: Self, b: Self) -> Bool {
    a.rank == b.rank ? a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8) : a.rank < b.rank
  }

  private var rank: Int {
    switch self {
    case .unknown: 0
    case .nonConsumable: 1
    case .nonRenewing: 3
    case .autoRenewable: 4
    case .consumable: 5
    default: 2
    }
  }
}
