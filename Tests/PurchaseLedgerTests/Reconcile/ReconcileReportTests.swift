import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

@Suite(.ownThread) struct ReconcileReportTests {
  private func written(_ format: ReconcileFormat) throws -> String {
    let test = try TestLedger()
    try test.book(.sample("1"))
    try test.book(.sample("2"))
    try test.book(.sample("3"))
    let facts = [
      .sample("1"), StoreTransaction.sample("2").revoked(at: TestLedger.now), .sample("4") { $0.productID = "a,b" },
    ]
    try Snapshot(of: test.ledger).store(
      SnapshotPage(
        evidence: facts.map { fact in
          let piece = TestLedger.piece([fact])
          return (piece.0.evidence, try! piece.1.get())
        }, cursor: nil))
    try Snapshot(of: test.ledger).cover(.apple, .production)
    let text = Written()
    var writer = ReconcileWriter(format) { text.text += $0 }
    let report = try Reconciler(ledger: test.ledger).run(apply: false, each: { try writer.add($0) })
    try writer.finish(report)
    return text.text
  }

  private final class Written { var text = "" }

  @Test func theTextListsBothSidesOfADifference() throws {
    #expect(
      try written(.text) == """
        These are in the store's records only (1):

        2023-11-13 (apple 4) a,b
            store:  purchased for 10.99 USD, signed 2023-11-13
            -> record it: run reconcile --apply

        These are in the ledger only (1):

        2023-11-13 (apple 3) region.alps
            ledger: purchased for 10.99 USD, signed 2023-11-13
            -> query the store for it by its id; absence alone revokes nothing

        These are in both, in different states (1):

        2023-11-14 (apple 2) region.alps
            store:  revoked for 10.99 USD, signed 2023-11-14, revoked 2023-11-14 for reason 0
            ledger: purchased for 10.99 USD, signed 2023-11-13
            -> take over the store's state: run reconcile --apply

        1 matched, 1 store-only, 1 own-only, 1 state-differs
        3 differences remain.

        """)
  }

  @Test func aDifferingFieldIsShownWithBothValuesAndDatesAndWhichIsNewer() throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    let piece = TestLedger.piece([.sample("1", signed: TestLedger.now) { $0.productID = "region.aaa" }])
    let snapshot = Snapshot(of: test.ledger)
    try snapshot.store(SnapshotPage(evidence: [(piece.0.evidence, try piece.1.get())], cursor: nil))
    try snapshot.cover(.apple, .production)
    for format in ReconcileFormat.allCases {
      let text = Written()
      var writer = ReconcileWriter(format) { text.text += $0 }
      let report = try Reconciler(ledger: test.ledger).run(apply: false, each: { try writer.add($0) })
      try writer.finish(report)
      let wanted =
        format == .json
        ? """
        "fields":[{"field":"productId","theirs":"region.aaa","ours":"region.alps","theirDate":1700000000000,\
        "ourDate":1699913600000,"newer":"store"}]
        """
        : "productId: store region.aaa (2023-11-14), ours region.alps (2023-11-13); the store's is newer"
      #expect(text.text.contains(wanted) && !text.text.contains("agree."), "\(text.text)")
    }
  }

  @Test func theJSONIsOneDocument() throws {
    let value = try JSONReader.read(Array(written(.json).utf8))
    #expect(value["differences"]?.array?.map { $0["class"]?.string } == ["state-differs", "own-only", "store-only"])
    #expect(value["summary"]?["matched"]?.integer == 1 && value["summary"]?["remaining"]?.integer == 3)
  }

  @Test func theCSVQuotesFieldsThatNeedIt() throws {
    let lines = try written(.csv).split(separator: "\n")
    try #require(lines.count == 4)
    #expect(lines[0] == ReconcileLine.csvHeader.dropLast())
    #expect(lines[3].hasPrefix("store-only,apple,Production,4,\"a,b\",purchased,,,,false,,"))
    #expect(lines[3].hasSuffix(",10.99 USD,"))
  }

  /// Spreadsheets take fields with these first characters for formulas; amounts are not changed.
  @Test(arguments: [
    ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
    ("\r=1", "\"'\r=1\""), ("=A1,B1", "\"'=A1,B1\""), ("-5", "-5"), ("+5.25", "+5.25"), ("a=1", "a=1"),
    ("a\nb", "\"a\nb\""),
  ])
  func aCSVFieldIsNeverAFormula(_ product: String, _ cell: String) {
    var line = ReconcileLine(.storeOnly, TransactionKey(store: .apple, environment: .production, id: "1"))
    let row = TransactionRow(
      .sample("1") {
        $0.productID = product
        $0.price = Money(milliunits: -10, currency: "USD")
      })
    line.theirs = ReconcileLine.Side(row)
    #expect(line.csv.hasPrefix("store-only,apple,Production,1,\(cell),purchased,"), "\(line.csv)")
    #expect(line.csv.hasSuffix(",-0.01 USD,\n"), "\(line.csv)")
  }

  @Test(arguments: [
    (10_990, "USD", "10.99"), (10_900, "USD", "10.90"), (4_995, "EUR", "4.995"), (850_000, "JPY", "850"),
    (1_500_500, "KRW", "1500.5"), (1_990, "KWD", "1.990"), (-5, "USD", "-0.005"), (0, "USD", "0.00"),
  ])
  func aPriceHasTheDigitsOfItsCurrency(_ milliunits: Int64, _ currency: String, _ text: String) {
    #expect(Posting.decimal(Money(milliunits: milliunits, currency: currency)) == text)
  }

  /// Without a comparison there is no agreement.
  @Test func withoutASnapshotNothingAgrees() throws {
    let test = try TestLedger()
    let report = try Reconciler(ledger: test.ledger).run(apply: false)
    #expect(!report.isAgreed && report.json.text.contains("\"agreed\":false"))
    try Snapshot(of: test.ledger).cover(.apple, .production)
    #expect(try Reconciler(ledger: test.ledger).run(apply: false).isAgreed)
    try test.book(.sample(), quarantine: VerificationError(.retryLater, "later"))
    #expect(try Reconciler(ledger: test.ledger).run(apply: false).text.hasSuffix("1 difference remains.\n"))
  }
}
