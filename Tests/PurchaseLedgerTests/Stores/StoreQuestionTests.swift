import Foundation
import StoreSimulators
import Synchronization
import TestSupport
import Testing

@testable import PurchaseLedger

/// Questions to Google about single purchases: which come first, what happens to those that fail, what the store's word
/// does to what a device submitted.
@Suite(.ownThread) struct StoreQuestionTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let day: Int64 = 86_400_000
  private static let refusal = #"{"error": {"code": 409, "errors": [{"reason": "concurrentUpdate"}]}}"#

  @Test func oneRefusedAcknowledgementStopsNoOther() async throws {
    let isBusy = Mutex(true)
    let shop = try await GoogleShop { request in
      request.path.hasSuffix("token-GPA.2:acknowledge") && isBusy.withLock(\.self) ? .json(409, Self.refusal) : nil
    }
    try await shop.with { ledger throws in
      for number in 0..<6 { try GoogleShop.submit("GPA.\(number)", to: ledger) }
    }
    #expect(try await shop.pull(acknowledge: true).refusals.count >= 1)
    try await shop.with { ledger throws in
      #expect(try ledger.unacknowledged(olderThan: 0).map(\.key.id) == ["GPA.2"])
      let waiting = try ledger.queue()
      #expect(waiting.needsPerson && waiting.items.map(\.kind) == [.acknowledgement])
      #expect(waiting.items[0].deadline == Self.now + 2 * Self.day && waiting.items[0].failure?.attempts == 2)
      #expect(waiting.text.contains("GPA.2") && waiting.json[0].text.contains("\"attempts\":2"))
    }
    isBusy.withLock { $0 = false }
    #expect(try await shop.pull(day: 1, acknowledge: true).refusals.isEmpty)
    try await shop.with { ledger throws in
      #expect(try ledger.queue().items.isEmpty && ledger.failedQuestions().isEmpty && ledger.verify().isClean)
    }
    try await shop.server.stop()
  }

  @Test func acknowledgementsComeBeforeListsAndAreDueBeforeTheirDeadline() async throws {
    let shop = try await GoogleShop { request in
      request.path.hasSuffix("/voidedpurchases") ? .json(403, #"{"error": {"code": 403, "message": "no"}}"#) : nil
    }
    try await shop.with { try GoogleShop.submit("GPA.1", to: $0) }
    #expect(try await shop.with { try $0.queue().needsPerson } == false)
    #expect(try await shop.with(day: 2) { try $0.queue().needsPerson })
    let report = try await shop.pull(acknowledge: true)
    #expect(report.refusals.count == 1 && shop.server.requests[0].path.hasSuffix("token-GPA.1:acknowledge"))
    // What the refused list does not concern is asked.
    #expect(shop.paths("/tokens/token-GPA.1").count == 2)
    try await shop.with { ledger throws in #expect(try ledger.queue().items.map(\.failure?.kind) == [.list]) }
    try await shop.server.stop()
  }

  @Test func whatIsOverdueIsSaid() async throws {
    let shop = try await GoogleShop { $0.method == "POST" ? .json(400, #"{"error": {"code": 400}}"#) : nil }
    try await shop.with { try GoogleShop.submit("GPA.1", to: $0) }
    #expect(try await shop.pull(acknowledge: true).refusals.count == 1)
    // It is not asked again yet.
    try await shop.with { ledger throws in
      try await ledger.commits.perform { try $0.db.execute("UPDATE failed_question SET next_at = next_at + 900000000") }
    }
    let later = try await shop.pull(day: 3, acknowledge: true)
    #expect(later.refusals.count == 1 && "\(later.refusals[0])".contains("due by"), "\(later)")
    try await shop.server.stop()
  }

  /// A question a night that is answered, then the quota is used up: each purchase is asked once in three nights.
  @Test func aQuotaEndsTheRunAndTheNextGoesOnBehindIt() async throws {
    let left = Mutex(100)
    let quota = #"{"error": {"code": 403, "errors": [{"domain": "usageLimits", "reason": "quotaExceeded"}]}}"#
    let shop = try await GoogleShop { request in
      guard request.path.contains("/tokens/") else { return nil }
      return left.withLock { left in
        left -= 1
        return left < 0 ? .json(403, quota) : nil
      }
    }
    try await shop.with { ledger throws in
      for number in 10..<22 { try GoogleShop.submit("GPA.\(number)", to: ledger, isAcknowledged: true) }
    }
    #expect(try await shop.pull().refusals.isEmpty)
    #expect(Set(shop.paths("/tokens/")).count == 12)
    for night in 1...3 {
      left.withLock { $0 = 5 }
      let before = shop.server.requests.count
      let report = try await shop.pull(day: Int64(night), everyone: true)
      let asked = shop.server.requests.dropFirst(before).map(\.path).filter { $0.contains("/tokens/") }
      #expect(asked.count == (night == 3 ? 2 : 6), "\(night): \(asked)")
      #expect(asked.first?.hasSuffix("token-GPA.\(5 + 5 * night)") == true, "\(night): \(asked)")
      #expect(report.refusals.map(\.code) == (night == 3 ? [] : [.retryLater]), "\(report)")
    }
    // A quota is no failure of a purchase.
    try await shop.with { ledger throws in #expect(try ledger.failedQuestions().isEmpty) }
    try await shop.server.stop()
  }

  @Test(arguments: [
    (403, "rateLimitExceeded", true), (403, "RATE_LIMIT_EXCEEDED", true), (403, "permissionDenied", false),
  ])
  func reasonsOfQuotasAreToldFromPermissions(_ status: Int, _ reason: String, _ isQuota: Bool) throws {
    let body = try JSONReader.read(Array(#"{"error": {"errors": [{"reason": "\#(reason)"}]}}"#.utf8), duplicates: .kept)
    #expect(StoreRequests.isQuota(status, body) == isQuota)
  }

  @Test func subscriptionsAreAcknowledgedWhereTheyBelongAndNotAskedAbout() async throws {
    let shop = try await GoogleShop { $0.path.contains("/products/") ? .json(400, #"{"error": {"code": 400}}"#) : nil }
    try await shop.with { try GoogleShop.submit("GPA.S", to: $0, type: .autoRenewable) }
    #expect(try await shop.pull(everyone: true, acknowledge: true).refusals.isEmpty)
    #expect(
      shop.paths("/tokens/").map { $0.split(separator: "/").suffix(4).joined(separator: "/") } == [
        "subscriptions/region.alps/tokens/token-GPA.S:acknowledge"
      ])
    try await shop.with { ledger throws in
      #expect(try ledger.queue().items.isEmpty && Reconciler(ledger: ledger).run(apply: false).isAgreed)
    }
    try await shop.server.stop()
  }

  @Test func aPurchaseThatWasRefundedLongAgoCountsOnlyUntilTheStoreAnswers() async throws {
    let isDown = Mutex(true)
    let shop = try await GoogleShop { request in
      guard request.path.contains("/tokens/") else { return nil }
      return isDown.withLock(\.self) ? .json(404, "<html>gateway") : GoogleShop.product(request, #""purchaseState": 1"#)
    }
    try await shop.with { ledger throws in
      try GoogleShop.submit("GPA.1", to: ledger, isAcknowledged: true)
      #expect(try ledger.queue().items.map(\.kind) == [.unconfirmed])
    }
    try await shop.pull()
    try await shop.reconcile()
    try await shop.with { ledger throws in
      #expect(try ledger.entitlement(of: GoogleShop.key("GPA.1"))?.status == .active)
      #expect(try ledger.queue().items.map(\.failure?.attempts) == [1])
    }
    isDown.withLock { $0 = false }
    try await shop.pull(day: 1)
    try await shop.reconcile(day: 1)
    try await shop.pull(day: 2)
    try await shop.with { ledger throws in
      #expect(try ledger.entitlement(of: GoogleShop.key("GPA.1"))?.status == .revoked)
      #expect(try ledger.queue().items.isEmpty)
      let before = try TestLedger.projections(ledger)
      try ledger.rebuild()
      #expect(try TestLedger.projections(ledger) == before)
    }
    // Once in vain, at both interfaces, and once more; what is answered is not asked again.
    #expect(shop.paths("/tokens/").count == 3)
    try await shop.server.stop()
  }

  @Test func aClockThatIsDaysBehindDelaysNoAcknowledgement() async throws {
    let shop = try await GoogleShop { _ in nil }
    try await shop.with { ledger throws in try GoogleShop.submit("GPA.1", to: ledger) }
    try await shop.pull(day: -4, acknowledge: true)
    #expect(shop.paths(":acknowledge").count == 1)
    try await shop.server.stop()
  }

  /// The list of voided purchases names the order alone; one of its products may be refunded by itself.
  @Test(arguments: [["region.alps", "region.etna", "region.iceland"], ["region.etna"]])
  func aRefundOfAnOrderOfSeveralProductsTakesThoseThatItNames(refunded: [String]) async throws {
    let products = ["region.alps", "region.etna", "region.iceland"]
    let isRefunded = Mutex(false)
    let bought = Date(timeIntervalSince1970: Double(Self.now - Self.day) / 1000).formatted(.iso8601)
    let shop = try await GoogleShop { request in
      let isVoid = isRefunded.withLock(\.self)
      if request.path.hasSuffix("/voidedpurchases"), isVoid, refunded.count == products.count {
        return .json(
          """
          {"voidedPurchases": [
            {"orderId": "GPA.1", "purchaseToken": "token-GPA.1", "voidedTimeMillis": "\(Self.now)"}]}
          """)
      }
      guard request.path.contains("/productsv2/tokens/token-GPA.1") else { return nil }
      let items = products.map { product in
        let left = isVoid && refunded.contains(product) ? 0 : 1
        return #"{"productId": "\#(product)", "productOfferDetails": {"quantity": 1, "refundableQuantity": \#(left)}}"#
      }
      return .json(
        """
        {"orderId": "GPA.1", "purchaseStateContext": {"purchaseState": "PURCHASED"},
        "purchaseCompletionTime": "\(bought)", "productLineItem": [\(items.joined(separator: ","))]}
        """)
    }
    func active() async throws -> [String] {
      try await shop.with { ledger throws in
        try products.enumerated().filter { index, product in
          let id = index == 0 ? "GPA.1" : "GPA.1/\(product)"
          return try ledger.entitlement(of: GoogleShop.key(id))?.status == .active
        }.map(\.element)
      }
    }
    try await shop.with { ledger throws in try GoogleShop.submit("GPA.1", to: ledger, products: products) }
    try await shop.pull(acknowledge: true)
    try await shop.reconcile()
    #expect(try await active() == products)
    // The token is one, and so is its acknowledgement.
    #expect(shop.paths(":acknowledge").count == 1 && shop.paths("/productsv2/").count == 1)
    isRefunded.withLock { $0 = true }
    // A single product's refund is in no list: all are asked.
    try await shop.pull(day: 1, everyone: refunded.count < products.count)
    try await shop.reconcile(day: 1)
    #expect(try await active() == products.filter { !refunded.contains($0) })
    try await shop.with { ledger throws in
      let before = try TestLedger.projections(ledger)
      try ledger.rebuild()
      #expect(try TestLedger.projections(ledger) == before)
    }
    try await shop.server.stop()
  }

  @Test(arguments: [false, true]) func theStoresWordWithholdsATestersPurchase(isAnsweredFirst: Bool) async throws {
    let shop = try await GoogleShop { request in
      request.path.contains("/tokens/")
        ? GoogleShop.product(request, #""purchaseState": 0, "purchaseType": 0, "acknowledgementState": 1"#) : nil
    }
    if isAnsweredFirst {
      // A message named it before the device submitted it.
      let hint = LookupHint(key: GoogleShop.key("GPA.1"), productID: "region.alps", purchaseToken: "token-GPA.1")
      try await shop.with { ledger in try ledger.write { try $0.lookups().ask(hint) } }
      try await shop.pull()
      try await shop.reconcile()
    }
    try await shop.with { ledger throws in
      try GoogleShop.submit("GPA.1", to: ledger)
      let status = try ledger.entitlement(of: GoogleShop.key("GPA.1"))?.status
      #expect(status == (isAnsweredFirst ? .withheld : .active))
    }
    try await shop.pull(everyone: true)
    try await shop.reconcile()
    try await shop.with { ledger throws in
      let found = try ledger.entitlement(of: GoogleShop.key("GPA.1"))
      #expect(found?.status == .withheld && found?.reason == "sandbox")
      #expect(try Reconciler(ledger: ledger).run(apply: false).isAgreed)
      #expect(try ledger.queue().items.isEmpty && ledger.verify().unpriced == 0)
      let before = try TestLedger.projections(ledger)
      try ledger.rebuild()
      #expect(try TestLedger.projections(ledger) == before)
    }
    try await shop.server.stop()
  }

  /// The first who presents the token owns what the store says of it.
  @Test func aBareTokenBecomesAPurchaseOfItsAccount() async throws {
    let shop = try await GoogleShop { _ in nil }
    let verifier = try GoogleVerifier(identity: .init(packageName: "org.example.maps"))
    let text = #"{"packageName": "org.example.maps", "productId": "region.alps", "purchaseToken": "token-GPA.7"}"#
    let content = try await verifier.verify(
      Array(text.utf8), as: .googleToken, context: .init(), at: Self.now, trusted: false)
    let accounts = [AccountID.random(), AccountID.random()]
    for (second, account) in accounts.enumerated() {
      let clock = LedgerClock.fixed(Self.now + Int64(second) * 1000)
      let ledger = try Ledger.open(at: shop.folder.file("l.sqlite"), policy: nil, clock: clock)
      try ledger.write { _ = try $0.append(.accountOpened(account, token: .random())) }
      let submission = Submission(evidence: Array(text.utf8), account: account, channel: .app)
      #expect(
        try ledger.commit([PreparedEvidence(submission, .success(content))], progress: nil)[0].outcome == .accepted)
      #expect(try ledger.queue().items.map(\.kind) == [.question])
      ledger.close()
    }
    try await shop.pull()
    try await shop.reconcile()
    try await shop.with { ledger throws in
      #expect(try accounts.map { try ledger.owner(of: "region.alps", by: $0)?.status } == [.active, nil])
      #expect(try ledger.queue().items.map(\.kind) == [.acknowledgement])
      #expect(try ledger.read { try $0.rows("SELECT * FROM claimant") }.isEmpty)
      let before = try TestLedger.projections(ledger)
      try ledger.rebuild()
      #expect(try TestLedger.projections(ledger) == before)
    }
    try await shop.server.stop()
  }
}
