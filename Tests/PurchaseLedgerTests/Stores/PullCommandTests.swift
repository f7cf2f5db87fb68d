import Crypto
import Foundation
import StoreSimulators
import TestSupport
import Testing

@testable import PurchaseLedger

/// `purchase-ledger pull` followed by `reconcile`, against a test server, including failures.
@Suite(.ownThread) struct PullCommandTests {
  private static let authority = try! EphemeralCA()
  private static let now: Int64 = 1_790_000_000_000
  private static let day: Int64 = 86_400_000
  private static let application = "/androidpublisher/v3/applications/org.example.maps/purchases"

  private static func transaction(_ id: String) -> String {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.alps", productType: .nonConsumable, purchaseDate: now - 9 * day,
      ownership: .purchased, signedDate: now - 8 * day, trust: .signed, statement: .purchased)
    return String(decoding: try! authority.transaction(fact, bundleID: "org.example.maps"), as: UTF8.self)
  }

  private static func page(_ ids: [String], revision: String, hasMore: Bool) -> StoreServer.Reply {
    let pieces = ids.map { "\"\(transaction($0))\"" }.joined(separator: ",")
    return .json(
      "{\"revision\": \"\(revision)\", \"hasMore\": \(hasMore), \"signedTransactions\": [\(pieces)]}")
  }

  /// Each kind of request fails once before it succeeds: server busy, key rejected, connection closed.
  private static func apple(_ request: StoreServer.Request, _ number: Int) -> StoreServer.Reply {
    switch number {
    case 0: return .json(503, "")
    case 2: return .json(401, "{}")
    case 4: return .truncated("{\"revision\": \"r2\", \"hasMore\": false, \"signedTransactions\": []}")
    default: break
    }
    if request.path.hasSuffix("/notifications/history") {
      let note = try! authority.notification(
        type: "ONE_TIME_CHARGE", uuid: "u", signedDate: now - 8 * day, environment: .production,
        bundleID: "org.example.maps", appAppleID: 7, transaction: Array(transaction("4").utf8))
      let text = String(decoding: note, as: UTF8.self)
      return .json("{\"notificationHistory\": [{\"signedPayload\": \"\(text)\"}], \"hasMore\": false}")
    }
    if request.path.contains("/refund/") { return page([], revision: "r", hasMore: false) }
    return request.query("revision") == nil
      ? page(["1", "2"], revision: "r1", hasMore: true) : page(["3"], revision: "r2", hasMore: false)
  }

  private static func google(_ request: StoreServer.Request, _ number: Int) -> StoreServer.Reply {
    if number == 0 { return .json(500, "{}") }
    if request.path.hasSuffix("/voidedpurchases") {
      return .json(
        """
        {"voidedPurchases": [{"orderId": "GPA.2", "purchaseToken": "token-2", "purchaseTimeMillis": "\(now - 9 * day)",
        "voidedTimeMillis": "\(now - day)"}]}
        """)
    }
    if request.path.hasSuffix("/orders:batchGet"), case .json(let status, let text, _) = GoogleShop.orders(request) {
      return .json(status, text.replacing("token-GPA.", with: "token-"))
    }
    return .json(
      """
      {"purchaseTimeMillis": "\(now - 9 * day)", "purchaseState": 0, "acknowledgementState": 1,
      "orderId": "\(request.path.hasSuffix("token-2") ? "GPA.2" : "GPA.1")"}
      """)
  }

  /// A folder with a configuration and a ledger that contains Google purchases.
  private func shop(_ server: StoreServer) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("root.der", bytes: Self.authority.rootCertificate)
    try folder.write("key.p8", P256.Signing.PrivateKey().pemRepresentation)
    try folder.write("token", "given\n")
    try folder.write(
      "config.json",
      """
      {"ledger": "ledger.sqlite", "root-certificate": "root.der", "bundle-id": "org.example.maps", "app-apple-id": 7,
       "package-name": "org.example.maps", "now": \(Self.now),
       "apple": {"issuer-id": "i", "key-id": "k", "private-key": "key.p8", "base-url": "\(server.url)"},
       "google": {"access-token-file": "token", "base-url": "\(server.url)"}}
      """)
    let ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    let facts = ["1", "2"].map { number in
      StoreTransaction(
        store: .google, environment: .production, transactionID: "GPA.\(number)",
        originalTransactionID: "GPA.\(number)",
        productID: "region.alps", purchaseDate: Self.now - 9 * Self.day, purchaseToken: "token-\(number)",
        signedDate: Self.now - 9 * Self.day, trust: .signed, statement: .purchased)
    }
    _ = try ledger.commit(facts.map { TestLedger.piece([$0]) }, progress: nil)
    return folder
  }

  private func run(_ folder: TemporaryFolder, _ arguments: String...) throws -> CommandRun {
    try Command(built: "purchase-ledger").run(arguments + ["--config", folder.file("config.json")], timeout: 300)
  }

  @Test func pulledAppleEvidenceIsReconciledAndRecorded() async throws {
    let server = try await StoreServer.start { Self.apple($0, $1) }
    let folder = try shop(server)
    let pull = try run(folder, "pull", "--store", "apple", "--transaction", "1", "--json")
    #expect(pull.status == 0 && pull.stdout.contains("\"pieces\":4"), "\(pull)")
    let dry = try run(folder, "reconcile")
    #expect(dry.status == 1 && dry.stdout.contains("store's records only (4)"), "\(dry)")
    let applied = try run(folder, "reconcile", "--apply")
    // Nothing was pulled of Google, whose purchases the ledger has too.
    #expect(applied.status == 1 && applied.stdout.contains("4 recorded"), "\(applied)")
    #expect(applied.stdout.contains("unknown: google: nothing was pulled, so 2 of"), "\(applied)")
    // A second pull continues from the cursor.
    #expect(try run(folder, "pull", "--store", "apple", "--transaction", "1").status == 0)
    #expect(server.requests.last { $0.path.contains("/v2/history/") }?.query("revision") == "r2")
    let agreed = try run(folder, "reconcile", "--json")
    #expect(agreed.status == 1 && agreed.stdout.contains("\"remaining\":0"), "\(agreed)")
    #expect(agreed.stdout.contains("\"code\":\"not-pulled\""), "\(agreed)")
    #expect(try run(folder, "verify").status == 0)
    // Which app's evidence counts is said if none is named.
    let named = try run(folder, "verify", "--signatures", "--json")
    #expect(named.stdout.contains("\"anyApp\":[]") && !named.stderr.contains("any app"), "\(named)")
    let config = String(decoding: try folder.bytes("config.json"), as: UTF8.self)
    try folder.write(
      "config.json", config.replacing("\"bundle-id\": \"org.example.maps\", \"app-apple-id\": 7,", with: ""))
    let unnamed = try run(folder, "verify", "--signatures", "--json")
    #expect(unnamed.stdout.contains("\"anyApp\":[\"apple\"]"), "\(unnamed)")
    #expect(unnamed.stderr.contains("apple: evidence of any app was accepted; name the app with --bundle-id"))
    try await server.stop()
  }

  /// The server does not speak TLS, so a retry would not help.
  @Test(arguments: ["apple", "google"]) func aTLSFailureIsNotRetried(_ store: String) async throws {
    let server = try await StoreServer.start { Self.apple($0, $1) }
    let folder = try shop(server)
    let config = try String(decoding: folder.bytes("config.json"), as: UTF8.self)
    try folder.write("config.json", config.replacing("http://", with: "https://"))
    let pull = try run(folder, "pull", "--store", store)
    #expect(pull.status == 4 && pull.stderr.contains("secure connection (TLS)"), "\(pull)")
    #expect(!pull.stderr.contains("attempts") && !pull.stderr.contains("SSL"), "\(pull)")
    #expect(pull.stderrLines.count == 1)
    try await server.stop()
  }

  @Test func controlCharactersInStoreErrorsAreReplaced() async throws {
    let server = try await StoreServer.start { _, _ in
      .json(403, #"{"error": {"code": 9, "message": "no\u001b[2J\r\npurchase-ledger: all is well\u009b\u202e"}}"#)
    }
    let folder = try shop(server)
    let pull = try run(folder, "pull", "--store", "google")
    #expect(pull.status == 1 && pull.stdout.contains("all is well"), "\(pull)")
    #expect(pull.stdoutLines.dropLast().allSatisfy { $0.hasPrefix("refused: store-refused: http") }, "\(pull)")
    #expect(
      !pull.stdout.unicodeScalars.contains { ["\u{1b}", "\r", "\u{9b}", "\u{202e}"].contains($0) }, "\(pull)")
    try await server.stop()
  }

  @Test func pulledGoogleEvidenceIsReconciledAndRecorded() async throws {
    let server = try await StoreServer.start { Self.google($0, $1) }
    let folder = try shop(server)
    let pull = try run(folder, "pull", "--store", "google", "--all")
    #expect(pull.status == 0 && pull.stdout.contains("5 pieces on 4 pages, 0 refused"), "\(pull)")
    let dry = try run(folder, "reconcile")
    #expect(dry.status == 1 && dry.stdout.contains("(google GPA.2)"), "\(dry)")
    let applied = try run(folder, "reconcile", "--apply")
    #expect(applied.status == 0, "\(applied)")
    #expect(try run(folder, "history", "GPA.2").stdout.contains("revoked"))
    #expect(try run(folder, "reconcile", "--against", folder.file("token")).status == 2)
    #expect(try run(folder, "reconcile").status == 0)
    #expect(server.requests.allSatisfy { $0.field("authorization") == "Bearer given" })
    try await server.stop()
  }

  /// Before anything is asked.
  @Test func optionsOfTheOtherStoreAndTimesThatAreNoneAreRefused() async throws {
    let server = try await StoreServer.start { Self.apple($0, $1) }
    let folder = try shop(server)
    #expect(try run(folder, "pull", "--store", "google", "--transaction", "GPA.1").status == 64)
    #expect(try run(folder, "pull", "--store", "apple", "--acknowledge").status == 64)
    #expect(try run(folder, "pull", "--store", "apple", "--since", "2026-01-01", "--again", "2026-01-01").status == 64)
    for time in ["2026-02-30", "2026-02-30T00:00:00Z", "1767225600", "1767225600000000", "-1767225600000", "yesterday"]
    {
      for option in ["--since", "--again", "--now"] {
        let refused = try run(folder, "pull", "--store", "apple", "\(option)=\(time)")
        #expect(refused.status == 2 && refused.stderr.contains("is no time"), "\(option) \(refused)")
      }
    }
    let config = String(decoding: try folder.bytes("config.json"), as: UTF8.self)
    try folder.write("config.json", config.replacing("\(Self.now)", with: "1767225600"))
    #expect(try run(folder, "pull", "--store", "apple").status == 2)
    try folder.write("config.json", config.replacing(server.url, with: "http://api.example.com"))
    let plain = try run(folder, "pull", "--store", "apple")
    #expect(plain.status == 2 && plain.stderr.contains("apple.baseUrl"), "\(plain)")
    #expect(server.requests.isEmpty)
    try await server.stop()
  }

  /// The gap ends the run with 1, in words and JSON; each customer is asked, and the next run goes on.
  @Test func aGapOfApplesHistoryIsToldAndClosed() async throws {
    let server = try await StoreServer.start { Self.apple($0, $1 + 1) }
    let folder = try shop(server)
    let pulled = try run(folder, "pull", "--store", "apple", "--transaction", "1")
    #expect(pulled.status == 0, "\(pulled)")
    #expect(try run(folder, "reconcile", "--apply").stdout.contains("recorded"))
    let config = String(decoding: try folder.bytes("config.json"), as: UTF8.self)
    let later = Self.now + 250 * Self.day
    try folder.write("config.json", config.replacing("\(Self.now)", with: "\(later)"))
    let count = server.requests.count
    let lost = try run(folder, "pull", "--store", "apple", "--json")
    #expect(lost.status == 1 && lost.stderr.contains("window-lost"), "\(lost)")
    #expect(lost.stdout.contains("\"windowLost\":true") && lost.stdout.contains("\"from\":\""), "\(lost)")
    #expect(server.requests.dropFirst(count).contains { $0.path.contains("/v2/history/") })
    let next = try run(folder, "pull", "--store", "apple", "--json")
    #expect(next.status == 0 && next.stdout.contains("\"windowLost\":false"), "\(next)")
    try await server.stop()
  }
}
