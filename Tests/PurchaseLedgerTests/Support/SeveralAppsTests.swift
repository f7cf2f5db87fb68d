import Crypto
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Several bundle ids and packages in one ledger: evidence, questions, tokens, lists of changes and status by app.
@Suite(.ownThread) struct SeveralAppsTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let (phone, mac) = ("org.example.maps", "org.example.maps.mac")
  private static let authority = try! EphemeralCA()
  private static let identity: StoreIdentity = {
    var identity = StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: phone)
    identity.bundleIDs.append(mac)
    return identity
  }()
  private let key = P256.Signing.PrivateKey()

  private static func fact(_ id: String) -> StoreTransaction {
    StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.\(id)", productType: .nonConsumable, purchaseDate: now - 10_000, ownership: .purchased,
      signedDate: now - 5000, trust: .signed, statement: .purchased)
  }

  private func ledger(_ folder: TemporaryFolder) throws -> Ledger {
    try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
  }

  private func book(_ id: String, of app: String, in ledger: Ledger, as account: AccountID? = nil) async throws {
    let evidence = try Self.authority.transaction(Self.fact(id), bundleID: app)
    let booking = try await ledger.book(
      Submission(evidence: evidence, account: account, channel: .operatorImport),
      with: EvidenceVerifier(identity: Self.identity))
    #expect(booking.outcome == .accepted, "\(booking)")
  }

  /// The app that a request's token is for.
  private static func app(of request: StoreServer.Request) -> String {
    let claims = (request.field("authorization") ?? "").split(separator: ".").dropFirst().first ?? ""
    return (Base64.decode(claims.utf8).flatMap { try? JSONReader.read($0) })?["bid"]?.string ?? ""
  }

  /// An App Store that knows a customer's transaction only of the app that asks.
  private static func answer(_ request: StoreServer.Request) -> StoreServer.Reply {
    if request.path.hasSuffix("/notifications/history") {
      return .json("{\"notificationHistory\": [], \"hasMore\": false}")
    }
    let id = String(request.path.split(separator: "/").last ?? "")
    guard app(of: request) == (id == "2" ? mac : phone) else {
      return .json(404, "{\"errorCode\": 4040010, \"errorMessage\": \"Transaction id not found.\"}")
    }
    return .json("{\"revision\": \"r\", \"hasMore\": false, \"signedTransactions\": []}")
  }

  private func clients(_ ledger: Ledger, _ server: StoreServer) throws -> [AppStoreClient] {
    let first = try ledger.firstApp(of: .apple, among: Self.identity.bundleIDs)
    return try Self.identity.bundleIDs.map { app in
      try AppStoreClient(
        credentials: .init(issuerID: "i", keyID: "K", privateKey: key.pemRepresentation, bundleID: app),
        environment: .production, verifier: AppleVerifier(identity: Self.identity), clock: .fixed(Self.now),
        baseURL: server.url, rate: 1000, retry: .init(attemptsMax: 1), isFirstApp: app == first)
    }
  }

  @Test func eachAppIsAskedWithItsOwnTokenAboutItsOwnPurchases() async throws {
    let folder = try TemporaryFolder()
    let ledger = try ledger(folder)
    let account = AccountID(UUID())
    try ledger.openAccounts([(account, AccountToken(UUID()))])
    try await book("1", of: Self.phone, in: ledger, as: account)
    try await book("2", of: Self.mac, in: ledger, as: account)
    #expect(try ledger.entitlements(of: account).map(\.status) == [.active, .active])
    let server = try await StoreServer.start { request, _ in Self.answer(request) }
    let clients = try clients(ledger, server)
    #expect(clients.map(\.otherApp) == [nil, Self.mac])
    // 3 is not recorded: nobody knows its app.
    let report = try await StorePull(ledger: ledger, clock: .fixed(Self.now)).apple(
      clients, everyone: true, transactions: ["3"]
    ) { _, _ in }
    #expect(report.refusals.isEmpty, "\(report.refusals)")
    let asked = server.requests.filter { $0.path.contains("/history/") }.map {
      "\($0.path.split(separator: "/").last ?? "") \(Self.app(of: $0))"
    }
    #expect(asked == ["3 \(Self.phone)", "1 \(Self.phone)", "2 \(Self.mac)"], "\(asked)")
    let lists = server.requests.filter { $0.path.hasSuffix("/notifications/history") }.map(Self.app)
    #expect(lists == [Self.phone, Self.mac])
    let cursors = try ledger.readStatement {
      try $0.rows("SELECT name FROM cursor WHERE name LIKE 'apple.not%' ORDER BY 1")
    }
    #expect(cursors == ["apple.notifications.Production", "apple.notifications.Production.\(Self.mac)"])
    let status = try LedgerStatus.read(folder.file("ledger.sqlite"), clock: .fixed(Self.now))
    #expect(status.feeds.map(\.app) == [nil, Self.mac] && status.feeds.map(\.transactions) == [1, 1])
    for client in clients { try await client.shutdown() }
    try await server.stop()
    var verified = try ledger.verify()
    try await ledger.verifySignatures(with: EvidenceVerifier(identity: Self.identity), into: &verified)
    #expect(verified.isClean, "\(verified.findings)")
    let before = try TestLedger.projections(ledger)
    try ledger.rebuild()
    #expect(try TestLedger.projections(ledger) == before)
  }

  @Test func purchasesOfAnAppThatIsNotConfiguredAreNamed() async throws {
    let folder = try TemporaryFolder()
    let ledger = try ledger(folder)
    try await book("1", of: Self.phone, in: ledger)
    try await book("2", of: Self.mac, in: ledger)
    let server = try await StoreServer.start { request, _ in Self.answer(request) }
    let client = try clients(ledger, server)[0]
    let report = try await StorePull(ledger: ledger, clock: .fixed(Self.now)).apple(
      client, everyone: true, transactions: []
    ) { _, _ in }
    #expect(report.refusals.map(\.message).contains { $0.contains(Self.mac) }, "\(report.refusals)")
    #expect(!server.requests.contains { $0.path.hasSuffix("/2") })
    try await client.shutdown()
    try await server.stop()
  }

  /// A ledger of an earlier version has cursors and purchases of one app, which keeps them, whatever stands first in
  /// the configuration now.
  @Test func theAppOfAnEarlierLedgerKeepsItsCursors() async throws {
    let folder = try TemporaryFolder()
    let ledger = try ledger(folder)
    try await book("2", of: Self.mac, in: ledger)
    try ledger.write { recorder in
      try recorder.removeCursor("first-app.apple")
      try recorder.setCursor("apple.notifications.Production", to: "1 2")
    }
    #expect(try ledger.firstApp(of: .apple, among: [Self.phone, Self.mac]) == Self.mac)
    // A new ledger keeps the first app that it was pulled for.
    let other = try Ledger.create(
      at: folder.file("other.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    #expect(try other.firstApp(of: .apple, among: [Self.phone, Self.mac]) == Self.phone)
    try await book("2", of: Self.mac, in: other)
    #expect(try other.firstApp(of: .apple, among: [Self.mac, Self.phone]) == Self.phone)
  }

  @Test func anAppleIdBelongsToItsBundleId() async throws {
    var identity = Self.identity
    identity.appAppleIDs = [7, 8]
    let verifier = try EvidenceVerifier(identity: identity)
    func verdict(_ app: String, _ number: Int64) async -> Bool {
      let note = try! Self.authority.notification(
        type: "TEST", uuid: "u", signedDate: Self.now, environment: .production, bundleID: app, appAppleID: number)
      return (try? await verifier.verify(note, at: Self.now)) != nil
    }
    #expect(await verdict(Self.phone, 7))
    #expect(await verdict(Self.mac, 8))
    #expect(await !verdict(Self.mac, 7))
    #expect(await !verdict("org.example.third", 7))
  }
}
