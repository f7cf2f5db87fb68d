import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport

/// What happens in a year, all of it from a seed: purchases and refunds at both stores, what reaches the shop, faults
/// of the stores, the state of our clock, and when our jobs run and are killed.
struct YearPlan: @unchecked Sendable {
  static let start: Int64 = 1_767_236_400_000  // 2026-01-01T03:00:00Z
  static let minute: Int64 = 60_000
  static let hour: Int64 = 3_600_000
  static let day: Int64 = 86_400_000

  /// How many days the plan has, of which the last ten are without faults.
  let days: Int
  var end: Int64 { Self.start + Int64(days) * Self.day }

  /// Something that reaches the shop, in the order of time.
  struct Delivery: Sendable {
    enum Piece: Sendable {
      /// A transaction that StoreKit hands over.
      case transaction(Int)
      case appleNotification(Int, index: Int)
      case signedPurchase(Int)
      case bareToken(Int)
      /// A real-time notification by its number; nil of a refund.
      case playMessage(Int, type: Int?)
    }

    var at: Int64
    var piece: Piece
    var account: Int?
    /// As they came first, if they come again.
    var bytes: [UInt8]?
  }

  let seed: UInt64
  var environment = StoreEnvironment.production
  var accounts: [(id: AccountID, token: AccountToken)] = []
  var truth = StoreTruth()
  var deliveries: [Delivery] = []
  var faults: [StoreFault] = []
  /// When no job runs, because a timer is broken.
  var pauses: [Range<Int64>] = []
  /// From a time on our clock is so far ahead of the stores'.
  var clocks: [(from: Int64, ahead: Int64)] = []
  /// The request of a night's job during which the process is killed, before the store has seen it or after.
  var kills: [Kill] = []
  /// When Apple's certificates change.
  var renewedAt: Int64 = 0

  struct Kill: Sendable {
    var night: Int
    /// The requests that are answered before.
    var request: Int
    var isBefore: Bool
  }

  private var random: SeededGenerator

  /// - Parameters:
  ///   - purchases: At each store.
  ///   - isFaulty: False for stores and a clock that are well.
  init(seed: UInt64, days: Int = 365, purchases: Int = 6, isFaulty: Bool = true) {
    (self.seed, self.days) = (seed, days)
    random = SeededGenerator(seed: seed &* 7919 &+ 39)
    if chance(20) { environment = .sandbox }
    for _ in 0..<5 { accounts.append((AccountID(uuid()), AccountToken(uuid()))) }
    renewedAt = Self.start + time((end - Self.start) / 4..<(end - Self.start) / 2)
    for number in 0..<purchases { applePurchase(number) }
    for number in 0..<purchases { playOrder(number) }
    deliveries.sort { $0.at < $1.at }
    if isFaulty {
      planClocks()
      planFaults()
    }
    for night in 0..<days where chance(isFaulty ? 15 : 50) {
      kills.append(Kill(night: night, request: Int(time(0..<7)), isBefore: chance(50)))
    }
  }

  /// The time of a night's jobs.
  static func night(_ number: Int) -> Int64 { start + Int64(number) * day }

  /// The first night behind a time.
  static func night(after time: Int64) -> Int { Int((time - start + day - 1) / day) }

  /// The nights behind an event at a store.
  var eventful: Set<Int> {
    let apple = truth.apple.flatMap { $0.notifications.map(\.at) }
    let play = truth.play.flatMap { [$0.boughtAt, $0.paidAt, $0.refund?.seenAt].compactMap(\.self) }
    return Set((apple + play).map(Self.night(after:)))
  }

  func ahead(at time: Int64) -> Int64 { clocks.last { $0.from <= time }?.ahead ?? 0 }

  // MARK: Stores, clocks and timers

  private mutating func planClocks() {
    // Less than the margins, for months; minutes; and once ten years for a night or two.
    clocks.append((Self.start, time(-50_000..<50_000)))
    for _ in 0..<3 {
      let from = Self.start + time(0..<end - 25 * Self.day - Self.start)
      clocks.append((from, time(-20 * Self.minute..<20 * Self.minute)))
      clocks.append((from + time(Self.day..<30 * Self.day), time(-50_000..<50_000)))
    }
    let night = Self.night(anEvent())
    clocks.append((night - Self.hour, chance(50) ? 3650 * Self.day : -3650 * Self.day))
    clocks.append((night + time(0..<2) * Self.day + Self.hour, time(-50_000..<50_000)))
    clocks.sort { $0.from < $1.from }
    // Once it is right again, it stays so for the end.
    clocks.append((end - 10 * Self.day, time(-50_000..<50_000)))
    if chance(40) {
      let from = Self.night(anEvent()) - Self.hour
      pauses.append(from..<from + time(2..<45) * Self.day)
    }
  }

  private mutating func planFaults() {
    let kinds: [StoreFault.Kind] = [
      .closed, .truncated, .failing(500), .failing(503), .maintenance, .gateway, .unauthorised, .forbidden,
      .rateLimited, .quotaExceeded, .conflict, .gone, .forgotten,
    ]
    let calls: [Set<StoreFault.Call>] = [
      Set(StoreFault.Call.allCases), [.list], [.acknowledgement], [.purchase, .history], [.token],
    ]
    for store in Store.allCases {
      for _ in 0..<6 {
        // Around a night's jobs, for minutes or hours.
        let from = Self.night(anEvent()) - time(0..<2 * Self.hour)
        let length = chance(30) ? time(Self.minute..<10 * Self.minute) : time(2 * Self.hour..<10 * Self.hour)
        faults.append(
          StoreFault(
            store, kinds[Int(time(0..<Int64(kinds.count)))], from..<from + length,
            calls: calls[Int(time(0..<Int64(calls.count)))], every: chance(40) ? Int(time(2..<5)) : 1))
      }
      guard chance(60) else { continue }
      let from = Self.night(anEvent()) - Self.hour
      faults.append(
        StoreFault(
          store, kinds[Int(time(0..<Int64(kinds.count)))], from..<from + time(3..<45) * Self.day,
          calls: calls[Int(time(0..<Int64(calls.count)))]))
    }
    // At the end the stores are well.
    faults = faults.map { fault in
      var fault = fault
      let end = end - 12 * Self.day
      fault.times = min(fault.times.lowerBound, end)..<min(fault.times.upperBound, end)
      return fault
    }
  }

  /// A night in which something is to be read, or the one behind.
  private mutating func anEvent() -> Int {
    let nights = eventful.sorted().filter { $0 < days - 20 }
    return nights.isEmpty ? 1 : nights[Int(time(0..<Int64(nights.count)))] + Int(time(0..<2))
  }

  // MARK: Purchases

  /// A time of the year; often within minutes of a night's jobs, where windows begin and end.
  private mutating func moment(_ days: Range<Int64>) -> Int64 {
    let day = time(days)
    return chance(60)
      ? Self.start + day * Self.day + time(-4 * Self.minute..<2 * Self.minute)
      : Self.start + day * Self.day + time(0..<Self.day)
  }

  private mutating func applePurchase(_ number: Int) {
    let account = Int(time(0..<Int64(accounts.count)))
    let id = "7000000000\(100 + number)"
    let fact = StoreTransaction(
      store: .apple, environment: environment, transactionID: id, originalTransactionID: id,
      productID: "region.\(number)", productType: .nonConsumable, purchaseDate: moment(1..<Int64(days - 25)),
      ownership: .purchased,
      appAccountToken: chance(70) ? accounts[account].token : nil, price: Money(milliunits: 4990, currency: "EUR"),
      reason: "PURCHASE", signedDate: 0, trust: .signed, statement: .purchased)
    var purchase = ApplePurchase(fact, customer: account)
    purchase.historyDelay = chance(70) ? time(0..<5 * Self.minute) : 0
    if chance(50) {
      let day = (fact.purchaseDate - Self.start) / Self.day
      let refund = max(moment(day + 1..<max(day + 2, min(Int64(days - 15), day + 60))), fact.purchaseDate + Self.hour)
      purchase.changes.append(.init(at: refund, isRefund: true))
      if chance(30) { purchase.changes.append(.init(at: refund + time(Self.hour..<9 * Self.day), isRefund: false)) }
    }
    truth.apple.append(purchase)
    if chance(75) { deliver(.transaction(number), at: fact.purchaseDate + time(2000..<Self.day), account) }
    for (index, note) in purchase.notifications.enumerated() where chance(index == 0 ? 60 : 40) {
      // Late ones come in another order, and some twice.
      for _ in 0..<(chance(20) ? 2 : 1) {
        deliver(
          .appleNotification(number, index: index), at: note.at + time(0..<(chance(20) ? 3 * Self.day : 5000)), nil)
      }
    }
  }

  private mutating func playOrder(_ number: Int) {
    let account = Int(time(0..<Int64(accounts.count)))
    let bought = moment(1..<Int64(days - 25))
    var order = PlayOrder(
      orderID: chance(92) ? "GPA.3300-0000-0000-\(10_000 + number)" : nil, token: "token-\(seed)-\(number)",
      products: ["area.\(number)"], accountToken: chance(70) ? accounts[account].token : nil, boughtAt: bought)
    if order.orderID == nil { order.kind = .promotion }
    if environment == .sandbox { order.kind = .test } else if chance(6) { order.kind = .test }
    if chance(20), order.orderID != nil {
      order.products += (0..<time(1..<3)).map { "area.\(number).\($0)" }
    }
    if chance(15) { order.paidAt = chance(80) ? bought + time(Self.hour..<2 * Self.day) : nil }
    if chance(40), let paid = order.paidAt {
      let day = (paid - Self.start) / Self.day
      let at = max(moment(day + 1..<max(day + 2, min(Int64(days - 15), day + 60))), paid + Self.hour)
      order.refund = .init(at: at, seenAt: at + (chance(50) ? time(0..<10 * Self.minute) : 0))
    }
    // A tester's app acknowledges at once; so do some others.
    if let paid = order.paidAt, order.kind == .test || chance(15) { order.acknowledgedAt = paid + 2000 }
    truth.play.append(order)
    // Nobody can know of a purchase of which nothing reaches the shop.
    guard let paid = order.paidAt else { return deliver(.signedPurchase(number), at: bought + 3000, account) }
    if paid > bought, chance(60) { deliver(.signedPurchase(number), at: bought + 3000, account) }
    let isMessage = chance(50)
    if chance(70) || !isMessage {
      let at = paid + (chance(80) ? time(2000..<2 * Self.hour) : time(Self.day..<6 * Self.day))
      deliver(chance(80) ? .signedPurchase(number) : .bareToken(number), at: at, account)
    }
    if isMessage {
      for _ in 0..<(chance(20) ? 3 : 1) {
        deliver(.playMessage(number, type: 1), at: paid + time(1000..<(chance(20) ? Self.day : 9000)), nil)
      }
    }
    if let refund = order.refund, chance(30) {
      deliver(.playMessage(number, type: nil), at: refund.at + time(1000..<Self.hour), nil)
    }
  }

  private mutating func deliver(_ piece: Delivery.Piece, at time: Int64, _ account: Int?) {
    deliveries.append(Delivery(at: time, piece: piece, account: account))
  }

  // MARK: Chance

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
  private mutating func time(_ range: Range<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

  private mutating func uuid() -> UUID {
    var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
