import Foundation
import PurchaseLedger
import TestSupport
import Testing

/// Google's orders: what was paid, in which currency, and what became of it.
@Suite struct GoogleOrderTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let created: Int64 = 1_780_000_000_000

  private func order(_ members: String) -> String {
    """
    {"orderId": "GPA.1", "purchaseToken": "token-1", "createTime": "2026-05-28T20:26:40Z",
    "lastEventTime": "2026-05-28T20:26:41.5Z", \(members)}
    """
  }

  private static func line(_ product: String, _ members: String = "") -> String {
    #"{"productId": "\#(product)"\#(members.isEmpty ? "" : ", \(members)")}"#
  }

  private func read(_ text: String, _ context: EvidenceContext = .init()) async throws -> VerifiedEvidence {
    let verifier = try EvidenceVerifier(identity: .init(packageName: "org.example.maps"))
    return try await verifier.read(Array(text.utf8), context: context, at: Self.now)
  }

  @Test(arguments: [
    (#""currencyCode": "EUR", "units": "4", "nanos": 990000000"#, Money(milliunits: 4990, currency: "EUR")),
    (#""currencyCode": "EUR", "nanos": 800000000"#, Money(milliunits: 800, currency: "EUR")),
    (#""currencyCode": "JPY", "units": "700""#, Money(milliunits: 700_000, currency: "JPY")),
    (#""currencyCode": "KWD", "units": 1, "nanos": 234000000"#, Money(milliunits: 1234, currency: "KWD")),
    (#""currencyCode": "EUR""#, Money(milliunits: 0, currency: "EUR")),
    // What the currency cannot have, or nobody pays in.
    (#""currencyCode": "JPY", "units": "700", "nanos": 500000000"#, nil),
    (#""currencyCode": "EUR", "units": "4", "nanos": 991000000"#, nil),
    (#""currencyCode": "EUR", "units": "4", "nanos": 1"#, nil),
    (#""currencyCode": "EUR", "units": "4", "nanos": -990000000"#, nil),
    (#""currencyCode": "EUR", "units": "4.99""#, nil),
    (#""currencyCode": "EUR", "units": "9223372036854775807""#, nil),
    (#""currencyCode": "XXX", "units": "4""#, nil), (#""units": "4""#, nil),
  ])
  func anAmountIsReadInTheDigitsOfItsCurrency(_ total: String, _ price: Money?) async throws {
    let found = try await read(
      order(#""state": "PROCESSED", "total": {\#(total)}, "lineItems": [\#(Self.line("region.alps"))]"#))
    #expect(found.kind == .googleOrder && found.transactions.map(\.price) == [price])
    #expect(found.notes == (price == nil ? ["unusable-price"] : []))
    let fact = try #require(found.transactions.first)
    #expect(fact.transactionID == "GPA.1" && fact.productID == "region.alps" && fact.purchaseToken == "token-1")
    #expect(fact.purchaseDate == Self.created && fact.statement == .purchased && fact.trust == .unsigned)
  }

  @Test func taxAndCountryAreDetails() async throws {
    let found = try await read(
      order(
        """
        "state": "PROCESSED", "total": {"currencyCode": "EUR", "units": "4", "nanos": 990000000},
        "tax": {"currencyCode": "EUR", "nanos": 800000000}, "buyerAddress": {"buyerCountry": "DE"},
        "developerRevenueInBuyerCurrency": {"currencyCode": "EUR", "units": "3", "nanos": 560000000},
        "lineItems": [\(Self.line("region.alps"))]
        """))
    #expect(
      found.details.map { "\($0.name) \($0.value)" } == [
        "state PROCESSED", "total 4.99 EUR", "tax 0.80 EUR", "developerRevenueInBuyerCurrency 3.56 EUR",
        "buyerCountry DE",
      ])
  }

  /// Each product has its own amount, and the transaction that the signed purchase has, in whatever order they come.
  @Test func productsOfAnOrderHaveTheirOwnAmounts() async throws {
    let euros = { (units: Int) in #""total": {"currencyCode": "EUR", "units": "\#(units)"}"# }
    let items = [Self.line("region.etna", euros(2)), Self.line("region.alps", euros(3))].joined(separator: ",")
    let found = try await read(
      order(#""state": "PROCESSED", "total": {"currencyCode": "EUR", "units": "5"}, "lineItems": [\#(items)]"#))
    #expect(found.transactions.map(\.transactionID) == ["GPA.1", "GPA.1/region.etna"])
    #expect(found.transactions.map(\.price?.milliunits) == [3000, 2000])
    let current = try await read(
      """
      {"orderId": "GPA.1", "purchaseStateContext": {"purchaseState": "PURCHASED"}, "productLineItem":
      [\(Self.line("region.etna")), \(Self.line("region.alps"))], "purchaseCompletionTime": "2026-05-28T20:26:40Z"}
      """, .init(purchaseToken: "token-1"))
    #expect(current.transactions.map(\.key) == found.transactions.map(\.key))
    #expect(current.transactions.map(\.productID) == found.transactions.map(\.productID))
    let unstated = try await read(
      order(
        """
        "state": "PROCESSED", "total": {"currencyCode": "EUR", "units": "5"},
        "lineItems": [\(Self.line("region.etna")), \(Self.line("region.alps"))]
        """))
    #expect(unstated.transactions.map(\.price) == [nil, nil] && unstated.notes == ["unusable-price"])
  }

  @Test(
    arguments: [
      ("PENDING", Statement.pending, nil, nil), ("PROCESSED", .purchased, nil, nil),
      ("PENDING_REFUND", .purchased, nil, nil), ("CANCELED", .revoked, created + 1500, nil),
      ("REFUNDED", .revoked, created + 86_400_000, nil),
      ("PARTIALLY_REFUNDED", .revoked, created + 3_600_000, 25_000),
    ] as [(String, Statement, Int64?, Int64?)])
  func theStateOfAnOrderIsThatOfItsPurchases(
    _ state: String, _ statement: Statement, _ revokedAt: Int64?, _ share: Int64?
  ) async throws {
    let found = try await read(
      order(
        """
        "state": "\(state)", "total": {"currencyCode": "EUR", "units": "4"}, "orderHistory": {
          "refundEvent": {"eventTime": "2026-05-29T20:26:40Z", "refundReason": "CHARGEBACK"},
          "partialRefundEvents": [{"createTime": "2026-05-28T20:26:45Z", "processTime": "2026-05-28T21:26:40Z",
            "state": "PROCESSED_SUCCESSFULLY", "refundDetails": {"total": {"currencyCode": "EUR", "units": "1"}}}]},
        "lineItems": [\(Self.line("region.alps"))]
        """))
    let fact = try #require(found.transactions.first)
    #expect(fact.statement == statement && fact.revocation?.date == revokedAt)
    #expect(fact.revocation?.percentageMilli == share && fact.signedDate == revokedAt ?? Self.created)
  }

  @Test func anUnknownStateStatesNothing() async throws {
    let found = try await read(order(#""state": "HELD", "lineItems": [\#(Self.line("region.alps"))]"#))
    #expect(found.transactions.isEmpty && found.notes == ["unknown-type", "no-transactions"])
  }

  /// The old and the current interface date a purchase otherwise than the device's text: its own time stays.
  @Test func theKnownTimeOfAPurchaseStays() async throws {
    var context = EvidenceContext(purchaseToken: "token-1")
    context.purchaseDate = Self.created - 250
    let found = try await read(order(#""state": "PROCESSED", "lineItems": [\#(Self.line("region.alps"))]"#), context)
    #expect(found.transactions.map(\.purchaseDate) == [Self.created - 250])
    #expect(found.transactions.map(\.signedDate) == [Self.created - 250])
    let pending = try await read(
      """
      {"orderId": "GPA.1", "purchaseStateContext": {"purchaseState": "PENDING"},
      "productLineItem": [\(Self.line("region.alps"))]}
      """, context)
    #expect(pending.transactions.map(\.statement) == [.pending])
  }

  /// An imported answer prices the purchase that a device has posted.
  @Test func anImportedListPricesRecordedPurchases() async throws {
    let folder = try TemporaryFolder()
    let ledger = try Ledger.create(at: folder.file("l.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    let identity = StoreIdentity(packageName: "org.example.maps")
    let bought = """
      {"purchaseTimeMillis": "\(Self.created)", "orderId": "GPA.1", "productId": "region.alps", "purchaseState": 0,
      "purchaseToken": "token-1"}
      """
    let list = """
      {"orders": [\(order(#""state": "PROCESSED", "total": {"currencyCode": "EUR", "units": "4", "nanos": 990000000},"#
        + #""lineItems": [\#(Self.line("region.alps"))]"#))]}
      """
    let file = folder.file("evidence.jsonl")
    let lines = [bought, list].map { $0.replacing("\n", with: " ") }.joined(separator: "\n")
    try Data(lines.utf8).write(to: URL(filePath: file))
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: identity), identity: identity, clock: ledger.clock,
      defaults: .init()
    ) { _ in nil }
    var outcomes: [Booking.Outcome] = []
    try await importer.run([file]) {
      outcomes += $0.map(\.booking.outcome)
    } progress: { _ in
    }
    #expect(outcomes == [.accepted, .accepted])
    var journal = ""
    #expect(try ledger.export(.hledger, to: { journal += $0 }).unpricedSales == 0)
    #expect(journal.contains("4.99 EUR"))
    var report = try ledger.verify()
    try await ledger.verifySignatures(with: EvidenceVerifier(identity: identity), into: &report)
    #expect(report.isClean, "\(report)")
  }
}
