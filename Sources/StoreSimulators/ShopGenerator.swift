package import PurchaseLedger

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Generates a year of purchases of 170 map regions: the evidence that arrived, and the stores' own lists.
///
/// Buyers restore purchases under new transactions, get refunds whose notification is lost or arrives first, share with
/// their families, and present others' evidence. Signatures and keys differ from run to run; everything else follows
/// from the seed.
package struct ShopGenerator {
  package static let bundleID = "org.example.maps"
  package static let packageName = "org.example.maps"
  package static let appAppleID: Int64 = 4_123_456_789
  /// 2026-01-01.
  package static let start: Int64 = 1_767_225_600_000
  package static let day: Int64 = 86_400_000
  /// The end of the year, when ledger and stores are reconciled.
  package static let end = start + 365 * day
  package static let regionCount = 170

  /// The evidence that arrived, as lines for `import`, in the order of arrival.
  package private(set) var evidence: [[UInt8]] = []
  /// The stores' own lists, as lines for `reconcile --against`.
  package private(set) var storeLists: [[UInt8]] = []
  /// The accounts to open, with their tokens.
  package private(set) var accounts: [(id: AccountID, token: AccountToken)] = []

  let authority: EphemeralCA
  var random: ShopRandom
  private var arrivals: [(time: Int64, line: [UInt8])] = []
  private var nextID: Int64 = 700_000_000_000_000

  /// - Parameters:
  ///   - buyers: The number of buyers; each buys three regions on average.
  ///   - seed: Determines everything except the signatures.
  /// - Complexity: About 70 microseconds for each purchase.
  package init(buyers: Int, seed: UInt64, authority: EphemeralCA) throws {
    self.authority = authority
    random = ShopRandom(seed: seed)
    for _ in 0..<buyers { accounts.append((AccountID(random.uuid()), AccountToken(random.uuid()))) }
    for buyer in accounts.indices {
      for _ in 0..<random.number(1...5) {
        if random.happens(15) { try googlePurchase(by: buyer) } else { try applePurchase(by: buyer) }
      }
    }
    evidence = arrivals.sorted { $0.time < $1.time }.map(\.line)
    arrivals = []
  }

  mutating func id() -> String {
    nextID += Int64(random.number(1...9999))
    return "\(nextID)"
  }

  /// A region such as `region.012`, or in 4% of cases a consumable pack of pins.
  mutating func product() -> (id: String, type: ProductType) {
    if random.happens(4) { return ("pins.50", .consumable) }
    // Regions of low rank sell more often.
    let rank = min(random.number(1...Self.regionCount), random.number(1...Self.regionCount))
    return ("region." + String("00\(rank)".suffix(3)), .nonConsumable)
  }

  mutating func price() -> Money {
    let currencies: [(String, [Int64])] = [
      ("USD", [990, 2990, 4990]), ("EUR", [990, 2990, 4990]), ("GBP", [990, 2490, 3990]),
      ("JPY", [150_000, 400_000, 700_000]), ("KWD", [299, 899, 1500]),
    ]
    let (currency, amounts) = currencies[min(random.number(0...9), random.number(0...4))]
    return Money(milliunits: amounts[random.number(0...2)], currency: currency)
  }

  mutating func arrive(_ time: Int64, _ line: [UInt8]) { arrivals.append((time, line)) }

  mutating func list(_ line: [UInt8]) { storeLists.append(line) }
}

/// SplitMix64, which generates the same numbers on every machine.
struct ShopRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  /// True with a probability of `percent`.
  mutating func happens(_ percent: Double) -> Bool { Double.random(in: 0..<100, using: &self) < percent }

  mutating func time(_ range: Range<Int64>) -> Int64 { Int64.random(in: range, using: &self) }

  mutating func uuid() -> UUID {
    var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &self) }
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

extension ShopGenerator {
  /// Opens the buyers' accounts.
  package func openAccounts(in ledger: Ledger) throws { try ledger.openAccounts(accounts) }
}

extension Ledger {
  /// Opens accounts without passwords, for generated shops: hashing passwords would take longer than everything else.
  package func openAccounts(_ accounts: [(id: AccountID, token: AccountToken)]) throws {
    try write { recorder in
      for account in accounts { try recorder.append(.accountOpened(account.id, token: account.token)) }
    }
  }
}
