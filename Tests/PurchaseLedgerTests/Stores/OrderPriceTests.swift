import Foundation
import StoreSimulators
import Synchronization
import TestSupport
import Testing

@testable import PurchaseLedger

/// `pull` asks Google what was paid for purchases whose price nobody has stated.
@Suite(.ownThread) struct OrderPriceTests {
  private static let quota =
    #"{"error": {"code": 403, "errors": [{"domain": "usageLimits", "reason": "quotaExceeded"}]}}"#
  private static let unknown = #"{"error": {"code": 404, "message": "no such order"}}"#

  private func unpriced(_ shop: GoogleShop) async throws -> Int {
    try await shop.with { try $0.export(.hledger) { _ in }.unpricedSales }
  }

  @Test func confirmedPurchasesArePricedOnce() async throws {
    let shop = try await GoogleShop { _ in nil }
    try await shop.with { ledger throws in
      for number in 0..<3 { try GoogleShop.submit("GPA.\(number)", to: ledger, isAcknowledged: true) }
      // Google keeps subscriptions elsewhere.
      try GoogleShop.submit("GPA.S", to: ledger, type: .autoRenewable, isAcknowledged: true)
    }
    #expect(try await shop.pull().refusals.isEmpty)
    let asked = shop.server.requests.filter { $0.path.hasSuffix("/orders:batchGet") }
    #expect(asked.map(\.target).map { $0.split(separator: "?")[1] } == ["orderIds=GPA.0&orderIds=GPA.1&orderIds=GPA.2"])
    // The price does not wait for `reconcile`, which finds nothing to correct.
    #expect(try await unpriced(shop) == 1)
    try await shop.with { ledger throws in
      let report = try Reconciler(ledger: ledger).run(apply: false)
      #expect(report.isAgreed && report.staleSnapshots == 0, "\(report)")
      #expect(try ledger.queue().items.isEmpty && ledger.verify().isClean)
      let before = try TestLedger.projections(ledger)
      try ledger.rebuild()
      #expect(try TestLedger.projections(ledger) == before)
    }
    try await shop.pull(day: 1, everyone: true)
    #expect(shop.paths("/orders:batchGet").count == 1)
    try await shop.server.stop()
  }

  /// A list with an order that the store does not know is refused as a whole: the others are asked without it.
  @Test func oneUnknownOrderLeavesNoOtherUnpriced() async throws {
    let shop = try await GoogleShop { request in
      request.path.hasSuffix("/orders:batchGet") && request.target.contains("GPA.3") ? .json(404, Self.unknown) : nil
    }
    try await shop.with { ledger throws in
      for number in 0..<8 { try GoogleShop.submit("GPA.\(number)", to: ledger, isAcknowledged: true) }
    }
    #expect(try await shop.pull().refusals.count == 1)
    #expect(try await unpriced(shop) == 1)
    try await shop.with { ledger throws in
      let waiting = try ledger.queue()
      #expect(waiting.items.map(\.key.id) == ["GPA.3"] && waiting.items.map(\.failure?.kind) == [.order])
      #expect(waiting.text.contains("order failed 1 times"), "\(waiting.text)")
    }
    // Not again at once, and then alone.
    let before = shop.paths("/orders:batchGet").count
    #expect(try await shop.pull().refusals.isEmpty && shop.paths("/orders:batchGet").count == before)
    try await shop.pull(day: 1)
    #expect(shop.paths("/orders:batchGet").count == before + 1)
    try await shop.server.stop()
  }

  /// Stores count each kind of question by itself.
  @Test(arguments: ["/orders:batchGet", "/tokens/"])
  func aQuotaOfOneKindStopsNoOther(of part: String) async throws {
    let isUsedUp = Mutex(true)
    let shop = try await GoogleShop { request in
      request.path.contains(part) && !request.path.hasSuffix(":acknowledge") && isUsedUp.withLock(\.self)
        ? .json(403, Self.quota) : nil
    }
    try await shop.with { ledger throws in
      for number in 0..<4 { try GoogleShop.submit("GPA.\(number)", to: ledger) }
    }
    let report = try await shop.pull(acknowledge: true)
    #expect(report.refusals.map(\.code) == [.retryLater], "\(report)")
    #expect(shop.paths(part).filter { !$0.hasSuffix(":acknowledge") }.count == 1)
    #expect(shop.paths(":acknowledge").count == 4 && shop.paths("/voidedpurchases").count == 1)
    isUsedUp.withLock { $0 = false }
    #expect(try await shop.pull(acknowledge: true).refusals.isEmpty)
    #expect(try await unpriced(shop) == 0)
    try await shop.with { ledger throws in #expect(try ledger.queue().items.isEmpty) }
    try await shop.server.stop()
  }

  /// The acknowledgements' quota leaves lists and look-ups.
  @Test func aQuotaOfAcknowledgementsLeavesTheOthers() async throws {
    let shop = try await GoogleShop { $0.path.hasSuffix(":acknowledge") ? .json(403, Self.quota) : nil }
    try await shop.with { ledger throws in
      for number in 0..<4 { try GoogleShop.submit("GPA.\(number)", to: ledger) }
    }
    #expect(try await shop.pull(acknowledge: true).refusals.map(\.code) == [.retryLater])
    #expect(shop.paths(":acknowledge").count == 1 && shop.paths("/voidedpurchases").count == 1)
    #expect(shop.paths("/tokens/").count == 5 && shop.paths("/orders:batchGet").count == 1)
    try await shop.server.stop()
  }

  /// A missing permission concerns all orders, and is tried again each night.
  @Test func aMissingPermissionIsSaidOnce() async throws {
    let shop = try await GoogleShop { request in
      request.path.contains("/orders") ? .json(403, #"{"error": {"code": 403, "message": "no permission"}}"#) : nil
    }
    try await shop.with { ledger throws in
      for number in 0..<4 { try GoogleShop.submit("GPA.\(number)", to: ledger, isAcknowledged: true) }
    }
    #expect(try await shop.pull().refusals.count == 1)
    #expect(shop.paths("/orders").count == 1)
    try await shop.with { ledger throws in #expect(try ledger.queue().items.map(\.failure?.kind) == [.order]) }
    try await shop.server.stop()
  }

  @Test func aRefundThatAnOrderTellsOfWaitsForReconcile() async throws {
    let shop = try await GoogleShop { request in
      request.path.hasSuffix("/orders:batchGet")
        ? GoogleShop.orders(request, #""state": "REFUNDED""#) : nil
    }
    try await shop.with { try GoogleShop.submit("GPA.1", to: $0, isAcknowledged: true) }
    try await shop.pull()
    try await shop.with { ledger throws in
      #expect(try ledger.entitlement(of: GoogleShop.key("GPA.1"))?.status == .active)
      #expect(try Reconciler(ledger: ledger).run(apply: false)[.stateDiffers] == 1)
    }
    try await shop.reconcile()
    try await shop.with { ledger throws in
      #expect(try ledger.entitlement(of: GoogleShop.key("GPA.1"))?.status == .revoked)
    }
    #expect(try await unpriced(shop) == 0)
    try await shop.server.stop()
  }

  /// The store's answer has no price that can be used: somebody has to look, and the store is not asked for ever.
  @Test func anOrderWithoutAPriceIsInTheQueue() async throws {
    let shop = try await GoogleShop { request in
      guard request.path.hasSuffix("/orders:batchGet") else { return nil }
      guard case .json(let status, let text, _) = GoogleShop.orders(request) else { return nil }
      return .json(status, text.replacing("990000000", with: "990000001"))
    }
    try await shop.with { try GoogleShop.submit("GPA.1", to: $0, isAcknowledged: true) }
    for night in 0..<12 { try await shop.pull(day: Int64(night)) }
    #expect(shop.paths("/orders:batchGet").count == 8)
    try await shop.with { ledger throws in
      #expect(try ledger.queue().items.map(\.failure?.kind) == [.order] && ledger.queue().needsPerson)
    }
    try await shop.server.stop()
  }
}
