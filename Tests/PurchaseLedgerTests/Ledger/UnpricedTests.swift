import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// A sale for which no store states a usable price is never a silent 0.
@Suite(.ownThread) struct UnpricedTests {
  private func journal(_ test: TestLedger) throws -> (text: String, summary: ExportSummary) {
    var text = ""
    let summary = try test.ledger.export(.hledger) { text += $0 }
    return (text, summary)
  }

  @Test(
    arguments: [
      (nil, "states no usable price"),
      (Money(milliunits: -4990, currency: "USD"), "states the negative price -4.99 USD"),
      (Money(milliunits: 4990, currency: "FOO"), "4.99 FOO is in no currency of ISO 4217"),
      (Money(milliunits: 4990, currency: "XXX"), "4.99 XXX is in no currency of ISO 4217"),
    ] as [(Money?, String)])
  func aSaleWithoutAUsablePriceIsMarkedAndCounted(_ price: Money?, _ reason: String) throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    let sale = StoreTransaction.sample("2") { $0.price = price }
    try test.book(sale.revoked(at: TestLedger.now))
    let (text, summary) = try journal(test)
    #expect(summary.unpricedSales == 1 && summary.unpricedRefunds == 1 && summary.entries == 3)
    #expect(text.contains("(apple:2) sale region.alps  ; unpriced: ") && text.contains(reason), "\(text)")
    #expect(text.contains("(apple:1) sale region.alps\n") && text.hasSuffix("\n; unpriced: 1 sales, 1 refunds\n"))
    let report = try test.ledger.verify()
    #expect(report.unpriced == 1 && report.isClean, "\(report.findings)")
  }

  /// Nothing was paid for these: 0 is what they brought.
  @Test func whatCostNothingIsNotUnpriced() throws {
    let test = try TestLedger()
    try test.book(.sample("1") { $0.price = Money(milliunits: 0, currency: "EUR") })
    try test.book(.sample("2") { ($0.price, $0.ownership) = (nil, .familyShared) })
    try test.book(.sample("3") { ($0.price, $0.reason) = (nil, "PROMOTION") })
    try test.book(.sample("4", original: "1") { $0.price = nil })
    try test.book(.sample("5") { ($0.price, $0.statement) = (nil, .pending) })
    let (text, summary) = try journal(test)
    #expect(summary.unpricedSales == 0 && !text.contains("unpriced"), "\(text)")
    #expect(try test.ledger.verify().unpriced == 0)
  }

  /// Apple counts in whole thousandths. A price of another form is not guessed, and the purchase counts all the same.
  @Test(
    arguments: [
      ("29.99", nil, true), ("29990", 29_990, false), ("29990.0", 29_990, false), ("-5", -5, true), ("0", 0, false),
    ] as [(String, Int64?, Bool)])
  func aPriceIsAWholeNumberOfThousandths(_ text: String, _ milliunits: Int64?, _ isNoted: Bool) async throws {
    let evidences = try Evidences()
    let payload = Evidences.payload(replacing: "price", with: text)
    let found = try await evidences.verifier().verify(evidences.authority.sign(payload), at: testNow)
    let fact = try #require(found.transactions.first)
    #expect(fact.price?.milliunits == milliunits && found.quarantine == nil)
    #expect(found.notes.contains("unusable-price") == isNoted, "\(found.notes)")
    #expect(found.earlierTransactions.map(\.price?.milliunits) == (text == "29.99" ? [29] : []))
  }

  /// A ledger that has a price whose fraction was cut off still verifies.
  @Test func whatEarlierVersionsReadStillVerifies() async throws {
    let evidences = try Evidences()
    let bytes = try evidences.authority.sign(Evidences.payload(replacing: "price", with: "29.99"))
    let verifier = try evidences.verifier()
    var content = try await verifier.verify(bytes, at: testNow)
    content.transactions = content.earlierTransactions
    let test = try TestLedger()
    _ = try test.ledger.commit(
      [(Submission(evidence: bytes, channel: .operatorImport), .success(content))], progress: nil)
    var report = try test.ledger.verify()
    try await test.ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.isClean, "\(report.findings)")
  }
}
