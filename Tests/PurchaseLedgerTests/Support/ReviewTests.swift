import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// Reviewers and testers buy in the sandbox of the production app.
@Suite(.ownThread) struct ReviewTests {
  private static let day = TestLedger.day
  private static let test = StoreTransaction.sample("1") { $0.environment = .sandbox }

  private func reviewing(_ test: TestLedger, _ account: AccountID, at time: Int64) throws -> Entitlement? {
    let ledger = try Ledger.openToRead(at: test.path, clock: .fixed(time))
    defer { ledger.close() }
    return try ledger.entitlements(of: account).first
  }

  @Test(arguments: [true, false]) func aReviewersTestPurchaseCountsUntilTheDay(isListedFirst: Bool) throws {
    let test = try TestLedger()
    let (reviewer, other) = (try test.account(), try test.account())
    let why = try ActReason("app review", by: "carol")
    let until = TestLedger.now + 7 * Self.day
    if isListedFirst { try test.ledger.setReviewer(reviewer, until: until, why) }
    try test.book(Self.test, as: reviewer)
    try test.book(.sample("2") { $0.environment = .sandbox }, as: other)
    if !isListedFirst { try test.ledger.setReviewer(reviewer, until: until, why) }
    let granted = try #require(try reviewing(test, reviewer, at: until - 1))
    #expect(granted.status == .active && granted.reason == "review" && granted.until == until)
    #expect(try reviewing(test, other, at: until - 1)?.status == .withheld)
    #expect(try reviewing(test, reviewer, at: until)?.status == .expired)
    #expect(try test.ledger.reviewers().map(\.account) == [reviewer])
    #expect(try test.ledger.verify().isClean)

    // Nothing of it is revenue, or compared with the store.
    var journal = ""
    _ = try test.ledger.export(.hledger) { journal += $0 }
    #expect(!journal.contains(/\n +(?!sandbox:)[a-z]+:/), "\(journal)")
    #expect(try test.ledger.verify().totals.isEmpty)

    try test.ledger.setReviewer(reviewer, until: nil, why)
    #expect(try reviewing(test, reviewer, at: TestLedger.now)?.status == .withheld)
    #expect(try test.ledger.reviewers().isEmpty)
    #expect(throws: LedgerError.self) { try test.ledger.setReviewer(reviewer, until: nil, why) }
    let before = try test.projections()
    try test.ledger.rebuild()
    #expect(try test.projections() == before && test.ledger.verify().isClean)
  }

  /// A licence tester of Google's: the device's text looks like any purchase.
  @Test func aPurchaseThatTheStoreCallsATestCountsForReviewers() throws {
    let test = try TestLedger()
    let reviewer = try test.account()
    let bought = StoreTransaction.sample("GPA.1") { ($0.store, $0.purchaseToken) = (.google, "t") }
    try test.book(bought, as: reviewer)
    var answer = bought
    (answer.environment, answer.trust) = (.sandbox, .unsigned)
    try test.book(answer)
    #expect(try test.status("GPA.1", store: .google) == .withheld)
    try test.ledger.setReviewer(reviewer, until: TestLedger.now + Self.day, ActReason("tests", by: "carol"))
    #expect(try test.status("GPA.1", store: .google) == .active && test.ledger.verify().isClean)
  }

  @Test func aPolicyLetsEverybodysTestPurchasesCountForDays() throws {
    let test = try TestLedger { $0.sandboxGrantDays = 30 }
    let account = try test.account()
    try test.book(Self.test, as: account)
    let until = Self.test.purchaseDate + 30 * Self.day
    #expect(try test.ledger.entitlements(of: account).map(\.until) == [until])
    #expect(try reviewing(test, account, at: until)?.status == .expired)
    // In force for what is recorded already.
    var policy = try test.ledger.policy
    policy.sandboxGrantDays = 0
    _ = try test.ledger.change(to: policy)
    #expect(try test.ledger.entitlements(of: account).map(\.status) == [.withheld] && test.ledger.verify().isClean)
  }
}
