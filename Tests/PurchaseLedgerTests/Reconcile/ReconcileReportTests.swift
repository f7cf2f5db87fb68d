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
        compared with apple as read up to 2023-11-14 22:13 UTC, 0 minutes ago
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
    #expect(Money(milliunits: milliunits, currency: currency).decimal == text)
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

/// What a comparison cannot know: its report says so, and does not call it agreement.
@Suite(.ownThread) struct ReconcileUnknownTests {
  private static let day = TestLedger.day

  /// A ledger of one Apple purchase that was pulled.
  private func pulled(at clock: Int64 = TestLedger.now, whole: Bool = true) throws -> TestLedger {
    let test = try TestLedger()
    try test.book(.sample("1"))
    let piece = TestLedger.piece([.sample("1")])
    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(clock))
    let window = NotificationWindow(start: clock - Self.day, end: clock, page: nil)
    try Snapshot(of: ledger).store(
      SnapshotPage(
        evidence: [(piece.0.evidence, try piece.1.get())], cursor: ("apple.notifications.Production", window.text)))
    if whole { try Snapshot(of: ledger).cover(.apple, .production) }
    return test
  }

  private func report(_ path: String, at now: Int64 = TestLedger.now, ageMax: Int64 = Reconciler.ageMaxDefault) throws
    -> ReconcileReport
  {
    let ledger = try Ledger.open(at: path, policy: nil, clock: .fixed(now))
    return try Reconciler(ledger: ledger, ageMax: ageMax).run(apply: false)
  }

  @Test func recordsThatAreOldAreNoAgreement() throws {
    let test = try pulled()
    let fresh = try report(test.path, at: TestLedger.now + 3_600_000)
    #expect(
      fresh.isAgreed && fresh.text.contains("compared with apple as read up to 2023-11-14 22:13 UTC, 1 hour ago"),
      "\(fresh.text)")
    let old = try report(test.path, at: TestLedger.now + 90 * Self.day)
    #expect(!old.isAgreed && old.remaining == 0 && old.unknowns.map(\.code) == [.stale], "\(old.text)")
    #expect(old.text.contains("90 days ago") && !old.text.contains("Store and ledger agree"))
    #expect(old.json.text.contains("\"ageSeconds\":7776000") && old.json.text.contains("\"code\":\"stale\""))
    #expect(try report(test.path, at: TestLedger.now + 90 * Self.day, ageMax: 91 * Self.day).isAgreed)
  }

  @Test func aStoreWithoutASnapshotIsNamed() throws {
    let test = try pulled()
    try test.book(.sample("GPA.1") { $0.store = .google })
    let found = try report(test.path)
    #expect(!found.isAgreed && found.unknowns.map(\.code) == [.notPulled], "\(found.text)")
    #expect(found.text.contains("google: nothing was pulled, so 1 of the ledger's transactions"), "\(found.text)")
  }

  @Test func aPullInTheFutureIsNamed() throws {
    let test = try pulled(at: TestLedger.now + 2 * Self.day)
    let found = try report(test.path)
    #expect(!found.isAgreed && found.unknowns.map(\.code) == [.clock], "\(found.text)")
  }

  @Test func aRestoredBackupIsNamedUntilEverythingIsPulled() throws {
    let test = try pulled()
    let copy = test.folder.file("copy.sqlite")
    _ = try test.ledger.backup(to: copy)
    #expect(try report(test.path).isAgreed)
    let found = try report(copy)
    #expect(!found.isAgreed && found.unknowns.map(\.code) == [.restored], "\(found.text)")
    let restored = try Ledger.open(at: copy, policy: nil, clock: .fixed(TestLedger.now + 1000))
    #expect(try restored.verify().isClean)
    try Snapshot(of: restored).cover(.apple, .production)
    #expect(try report(copy, at: TestLedger.now + 1000).isAgreed)
  }

  @Test func anEventAfterThePullIsSaid() throws {
    let test = try pulled()
    let later = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now + 60_000))
    _ = try later.write { try $0.append(.accountOpened(AccountID.random(), token: .random())) }
    let found = try report(test.path, at: TestLedger.now + 60_000)
    #expect(found.isAgreed && found.text.contains("the ledger's last event is newer"), "\(found.text)")
  }
}
