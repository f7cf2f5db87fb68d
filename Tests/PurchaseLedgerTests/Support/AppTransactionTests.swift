import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Apple's app transactions: who has the app, and since which version.
@Suite(.ownThread) struct AppTransactionTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let bundle = "org.example.maps"
  private let folder: TemporaryFolder
  private let ledger: Ledger
  private let authority: EphemeralCA
  private let verifier: EvidenceVerifier
  private let anna = AccountID(UUID())
  private let bert = AccountID(UUID())

  init() throws {
    folder = try TemporaryFolder()
    authority = try EphemeralCA()
    verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: Self.bundle))
    var policy = LedgerPolicy()
    try policy.set("formerly-paid", to: "region.us:3.0, region.fr:1.10")
    ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: policy, clock: .fixed(Self.now))
    try ledger.openAccounts([(anna, AccountToken(UUID())), (bert, AccountToken(UUID()))])
  }

  private func appTransaction(
    _ id: String?, version: String, type: String = "Production", bundle: String = Self.bundle
  ) throws -> [UInt8] {
    let member = id.map { ",\"appTransactionId\":\"\($0)\"" } ?? ""
    return try authority.sign(
      """
      {"receiptType":"\(type)","bundleId":"\(bundle)","applicationVersion":"4.0","receiptCreationDate":\(Self.now - 1),
      "originalPurchaseDate":1600000000000,"originalApplicationVersion":"\(version)"\(member)}
      """.utf8)
  }

  private func book(_ evidence: [UInt8], as account: AccountID?) async throws -> Booking {
    try await ledger.book(Submission(evidence: evidence, account: account, channel: .app), with: verifier)
  }

  private func owned(_ account: AccountID) throws -> [String] {
    try ledger.entitlements(of: account).filter { $0.status == .active }.compactMap(\.productID).sorted()
  }

  private func expectWhole() async throws {
    let before = try TestLedger.projections(ledger)
    var report = try ledger.verify()
    try await ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.isClean, "\(report.findings)")
    try ledger.rebuild()
    #expect(try TestLedger.projections(ledger) == before)
  }

  /// 1.9 is earlier than 1.10, and 2.5.1 earlier than 3.0.
  @Test(arguments: [
    ("1.9", ["region.fr", "region.us"]), ("1.10", ["region.us"]), ("2.5.1", ["region.us"]), ("3", []), ("3.0.0", []),
    ("10.0", []),
  ])
  func whoPaidForTheAppBeforeHasItsRegions(_ version: String, _ regions: [String]) async throws {
    let evidence = try appTransaction("704", version: version)
    #expect(try await book(evidence, as: nil).outcome == .accepted)
    #expect(try owned(anna).isEmpty)
    #expect(try await book(evidence, as: anna).outcome == .accepted)
    #expect(try owned(anna) == regions)
    // Somebody else's copy of the same text.
    _ = try await book(evidence, as: bert)
    #expect(try owned(bert).isEmpty && owned(anna) == regions)
    try await expectWhole()
  }

  @Test func aPolicyThatComesLaterCountsForAppTransactionsThatAreThere() async throws {
    var policy = try ledger.policy
    policy.formerlyPaid = []
    _ = try ledger.change(to: policy)
    _ = try await book(appTransaction("704", version: "1.0"), as: anna)
    #expect(try owned(anna).isEmpty)
    try policy.set("formerly-paid", to: "region.it:2")
    _ = try ledger.change(to: policy)
    #expect(try owned(anna) == ["region.it"])
    try await expectWhole()
    for wrong in ["region.it", "region.it:", ":2", "region.it:x", "a/b:1"] {
      #expect(throws: LedgerError.self) { try policy.set("formerly-paid", to: wrong) }
    }
  }

  /// A purchase without a token belongs to the account that has the same person's app transaction.
  @Test(arguments: [true, false]) func purchasesOfOnePersonAreLinkedWithoutALogin(isAppFirst: Bool) async throws {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "1", originalTransactionID: "1",
      productID: "region.alps", productType: .nonConsumable, purchaseDate: Self.now - 1000, signedDate: Self.now - 500,
      trust: .signed, statement: .purchased)
    let bought = try authority.transaction(fact, bundleID: Self.bundle, extra: "\"appTransactionId\":\"704\"")
    let app = try appTransaction("704", version: "9.0")
    _ = try await book(isAppFirst ? app : bought, as: isAppFirst ? anna : nil)
    _ = try await book(isAppFirst ? bought : app, as: isAppFirst ? nil : anna)
    #expect(try owned(anna) == ["region.alps"])
    try await expectWhole()
    // Who presents the purchase itself has it: a family shares a device, not a purchase.
    _ = try await book(bought, as: bert)
    #expect(try owned(bert) == ["region.alps"] && owned(anna).isEmpty)
    try await expectWhole()
  }

  @Test func othersAreRefusedOrGrantNothing() async throws {
    #expect(
      try await book(appTransaction("1", version: "1.0", bundle: "org.example.other"), as: anna).outcome == .refused)
    #expect(try await book(appTransaction("2", version: "1.0", type: "Xcode"), as: anna).outcome == .refused)
    #expect(try await book(appTransaction("3", version: "1.0", type: "Sandbox"), as: anna).outcome == .accepted)
    #expect(try owned(anna).isEmpty)
    // Systems before iOS 18.4 state no id.
    #expect(try await book(appTransaction(nil, version: "1.0"), as: anna).outcome == .accepted)
    #expect(try owned(anna) == ["region.fr", "region.us"])
    #expect(try ledger.readStatement { try StoreQuestion.customers($0, of: .apple, in: .production) }.isEmpty)
    try await expectWhole()
  }
}
