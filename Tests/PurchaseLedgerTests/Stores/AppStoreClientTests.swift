// swift-format-ignore-file: OnlyOneTrailingClosureArgument
// The server's responses and the checks of its requests read best as two trailing closures.

import Crypto
import Foundation
import StoreSimulators
import TestSupport
import Testing

@testable import PurchaseLedger

/// The App Store Server API client against a test server, including failures.
@Suite(.ownThread) struct AppStoreClientTests {
  static let authority = try! EphemeralCA()
  static let now: Int64 = 1_790_000_000_000

  let key = P256.Signing.PrivateKey()

  /// A client whose base URL is the test server's.
  private func client(
    _ server: StoreServer, attempts: Int = 4, timeout: Double = 20, rate: Double = 1000
  ) throws -> AppStoreClient {
    let identity = StoreIdentity(rootCertificates: [Self.authority.rootCertificate], bundleID: "org.example.maps")
    return try AppStoreClient(
      credentials: .init(
        issuerID: "issuer", keyID: "KEY", privateKey: key.pemRepresentation, bundleID: "org.example.maps"),
      environment: .production, verifier: AppleVerifier(identity: identity), clock: .fixed(Self.now),
      baseURL: server.url, rate: rate,
      retry: .init(attemptsMax: attempts, firstDelay: 0.01, delayMax: 0.02, retryAfterMax: 5, timeout: timeout))
  }

  private static func transaction(_ id: String) -> String {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.alps", productType: .nonConsumable, purchaseDate: 1_780_000_000_000,
      ownership: .purchased, signedDate: 1_780_000_001_000, trust: .signed, statement: .purchased)
    return String(decoding: try! authority.transaction(fact, bundleID: "org.example.maps"), as: UTF8.self)
  }

  private static func page(_ ids: [String], revision: String, hasMore: Bool) -> String {
    let pieces = ids.map { "\"\(transaction($0))\"" }.joined(separator: ",")
    return "{\"revision\": \"\(revision)\", \"hasMore\": \(hasMore), \"environment\": \"Production\","
      + " \"signedTransactions\": [\(pieces)]}"
  }

  /// Two pages, by the revision asked for.
  private static func twoPages(_ request: StoreServer.Request) -> StoreServer.Reply {
    switch request.query("revision") {
    case nil: .json(page(["1", "2"], revision: "r1", hasMore: true))
    case "r1": .json(page(["3"], revision: "r2", hasMore: false))
    default: .json(page([], revision: "r2", hasMore: false))
    }
  }

  /// Runs `body` with a server and a client.
  private func withClient<Value>(
    attempts: Int = 4, timeout: Double = 20, rate: Double = 1000,
    answer: @escaping @Sendable (StoreServer.Request, Int) -> StoreServer.Reply,
    _ body: (AppStoreClient, StoreServer) async throws -> Value
  ) async throws -> Value {
    try await StoreServer.with(
      answer, client: { try client($0, attempts: attempts, timeout: timeout, rate: rate) },
      shutdown: { try await $0.shutdown() }, body)
  }

  @Test func historyIsPagedAndResumesFromItsRevision() async throws {
    let sink = PageSink()
    try await withClient(answer: { request, _ in Self.twoPages(request) }) { client, server in
      let report = try await client.pullHistory(of: "1", into: sink)
      #expect(report.pages == 2 && report.pieces == 3 && report.refusals.isEmpty)
      #expect(sink.transactionIDs == [["1", "2"], ["3"]])
      #expect(sink.cursors == ["apple.history.Production.1": "r2"])
      _ = try await client.pullHistory(of: "1", into: sink)
      #expect(server.requests.map { $0.query("revision") } == [nil, "r1", "r2"])
      #expect(server.requests.map(\.path).allSatisfy { $0 == "/inApps/v2/history/1" })
    }
  }

  @Test func requestsAreSignedWithTheKey() async throws {
    try await withClient(answer: { request, _ in Self.twoPages(request) }) { client, server in
      _ = try await client.pullHistory(of: "1", into: PageSink())
      let field = try #require(server.requests.first?.field("authorization"))
      let parts = try #require(field.split(separator: " ").last).split(separator: ".").map { part in
        let text = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
      }
      let signed = Data(field.dropFirst("Bearer ".count).split(separator: ".")[0...1].joined(separator: ".").utf8)
      #expect(try key.publicKey.isValidSignature(.init(rawRepresentation: parts[2]), for: signed))
      let header = try #require(try JSONSerialization.jsonObject(with: parts[0]) as? [String: String])
      #expect(header == ["alg": "ES256", "kid": "KEY", "typ": "JWT"])
      let claims = try #require(try JSONSerialization.jsonObject(with: parts[1]) as? [String: Any])
      #expect(claims["iss"] as? String == "issuer" && claims["bid"] as? String == "org.example.maps")
      #expect(claims["aud"] as? String == "appstoreconnect-v1")
      #expect(claims["iat"] as? Int == 1_789_999_940 && claims["exp"] as? Int == 1_790_001_140)
    }
  }

  @Test(arguments: [
    (401, "{\"errorCode\": 4010000}"), (429, "{\"errorCode\": 4290000, \"errorMessage\": \"Rate limit exceeded.\"}"),
    (500, "{\"errorCode\": 5000001}"), (503, ""), (404, "{\"errorCode\": 4040004}"), (200, "{}"), (200, ""),
  ])
  func case33_temporaryFailuresAreRetried(_ status: Int, _ body: String) async throws {
    let sink = PageSink()
    try await withClient(
      answer: { request, number in number < 2 ? .json(status, body) : Self.twoPages(request) }
    ) { client, server in
      let found = try await client.pullHistory(of: "1", into: sink).pieces
      #expect(found == 3)
      #expect(server.requests.count == 4)
    }
    #expect(sink.transactionIDs == [["1", "2"], ["3"]])
  }

  @Test(arguments: [401, 500]) func case33_anUnavailableStoreLeavesTheSnapshotUnchanged(_ status: Int) async throws {
    let sink = PageSink()
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(answer: { _, _ in .json(status, "{}") }) { client, _ in
        _ = try await client.pullHistory(of: "1", into: sink)
      }
    }
    #expect(error?.code == .store && error?.message.contains("\(status)") == true)
    #expect(sink.transactionIDs.isEmpty && sink.cursors.isEmpty)
  }

  @Test(arguments: [(404, 4_040_010), (400, 4_000_006), (500, 5_000_000)])
  func permanentFailuresAreNotRetried(_ status: Int, _ code: Int) async throws {
    let server = try await StoreServer.start { _, _ in
      .json(status, "{\"errorCode\": \(code), \"errorMessage\": \"Transaction id not found.\"}")
    }
    let client = try client(server)
    let error = await #expect(throws: LedgerError.self) { try await client.pullHistory(of: "1", into: PageSink()) }
    #expect(error?.message.contains("\(code)") == true && error?.message.contains("not found") == true)
    #expect(server.requests.count == 1)
    try await client.shutdown()
    try await server.stop()
  }

  @Test(arguments: ["r1", ""]) func case34_aRepeatedOrEmptyRevisionStopsThePullWhichResumes(_ revision: String)
    async throws
  {
    let sink = PageSink()
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(answer: { request, _ in
        request.query("revision") == nil
          ? .json(Self.page(["1", "2"], revision: "r1", hasMore: true))
          : .json(Self.page(["3"], revision: revision, hasMore: true))
      }) { client, _ in _ = try await client.pullHistory(of: "1", into: sink) }
    }
    #expect(error?.code == .store && error?.message.contains("revision") == true)
    #expect(sink.cursors.values.map { $0 } == ["r1"])
    try await withClient(answer: { request, _ in Self.twoPages(request) }) { client, server in
      _ = try await client.pullHistory(of: "1", into: sink)
      #expect(server.requests.map { $0.query("revision") } == ["r1"])
    }
    #expect(sink.cursors.values.map { $0 } == ["r2"])
  }

  @Test func case34_aTruncatedPageIsRequestedAgain() async throws {
    let sink = PageSink()
    try await withClient(answer: { request, number in
      number == 1 ? .truncated(Self.page(["3"], revision: "r2", hasMore: false)) : Self.twoPages(request)
    }) { client, server in
      let found = try await client.pullHistory(of: "1", into: sink).pieces
      #expect(found == 3)
      #expect(server.requests.map { $0.query("revision") } == [nil, "r1", "r1"])
    }
    #expect(sink.transactionIDs == [["1", "2"], ["3"]])
  }

  /// Before the head of the answer, and in the middle of its body.
  @Test(arguments: [StoreServer.Reply.hang, .stalled(page(["1"], revision: "r", hasMore: false))])
  func aHangingServerTimesOutWithAMessage(_ reply: StoreServer.Reply) async throws {
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(attempts: 2, timeout: 0.3, answer: { _, _ in reply }) { client, _ in
        _ = try await client.pullHistory(of: "1", into: PageSink())
      }
    }
    #expect(error?.code == .store && error?.message.contains("2 attempts") == true)
  }

  /// They are refused where they are configured: the HTTP client ends the process for some of them.
  @Test(arguments: ["http://127.0.0.1:65536", "http://[]", "api.example.com", "http://a:-1"])
  func impossibleAddressesAreRefused(_ address: String) throws {
    let apple = #expect(throws: LedgerError.self) {
      try AppStoreClient(
        credentials: .init(
          issuerID: "issuer", keyID: "KEY", privateKey: key.pemRepresentation, bundleID: "org.example.maps"),
        environment: .production, verifier: AppleVerifier(identity: StoreIdentity()), baseURL: address)
    }
    #expect(apple?.code == .configuration && "\(apple!)".contains("apple.baseUrl"))
    for credentials in [
      GoogleCredentials.accessToken("t"), .serviceAccount(email: "a", privateKey: "", tokenURI: address),
    ] {
      let isToken = if case .accessToken = credentials { true } else { false }
      let google = #expect(throws: LedgerError.self) {
        try GooglePlayClient(
          packageName: "p", credentials: credentials, environment: .production,
          verifier: GoogleVerifier(identity: StoreIdentity()), baseURL: isToken ? address : nil)
      }
      #expect(google?.code == .configuration && "\(google!)".contains(isToken ? "google.baseUrl" : "token_uri"))
    }
  }

  @Test func retryAfterIsHonoured() async throws {
    try await withClient(answer: { request, number in
      number == 0 ? .json(429, "{}", headers: ["Retry-After": "1"]) : Self.twoPages(request)
    }) { client, _ in
      let start = ContinuousClock.now
      _ = try await client.pullHistory(of: "1", into: PageSink())
      #expect(ContinuousClock.now - start >= .seconds(1))
    }
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(answer: { _, _ in
        .json(429, "{}", headers: ["Retry-After": "\(Self.now + 3_600_000)"])
      }) { client, _ in _ = try await client.pullHistory(of: "1", into: PageSink()) }
    }
    #expect(error?.message.contains("3600 s") == true)
  }

  @Test func requestsAreRateLimited() async throws {
    try await withClient(rate: 20, answer: { request, _ in Self.twoPages(request) }) { client, _ in
      let start = ContinuousClock.now
      for _ in 0..<3 { _ = try await client.pullRefunds(of: "1", into: PageSink()) }
      // Six requests, five gaps of 50 ms.
      #expect(ContinuousClock.now - start >= .milliseconds(245))
    }
  }

  @Test func anInvalidPieceIsReportedAndTheOthersAreKept() async throws {
    let sink = PageSink()
    try await withClient(answer: { _, _ in
      .json(
        "{\"revision\": \"r\", \"hasMore\": false, \"signedTransactions\": [\"a.b.c\", \"\(Self.transaction("9"))\"]}")
    }) { client, _ in
      let report = try await client.pullHistory(of: "9", into: sink)
      #expect(report.pieces == 1 && report.refusals.count == 1)
    }
    #expect(sink.transactionIDs == [["9"]])
  }

  @Test func notificationsArePulledByWindow() async throws {
    let sink = PageSink()
    @Sendable func body(_ request: StoreServer.Request) -> StoreServer.Reply {
      let note = try! Self.authority.notification(
        type: "REFUND", uuid: "u-\(request.query("paginationToken") ?? "0")", signedDate: 1_780_000_002_000,
        environment: .production, bundleID: "org.example.maps", transaction: Array(Self.transaction("4").utf8))
      let text = String(decoding: note, as: UTF8.self)
      let more = request.query("paginationToken") == nil
      return .json(
        """
        {"notificationHistory": [{"signedPayload": "\(text)"}], "hasMore": \(more), \
        "paginationToken": "p\(more ? 1 : 2)"}
        """
      )
    }
    let answer: @Sendable (StoreServer.Request, Int) -> StoreServer.Reply = { request, _ in body(request) }
    try await withClient(answer: answer) { client, server in
      let (day, end) = (Int64(86_400_000), Self.now - 60_000)
      let start = Self.now - 5 * day
      let report = try await client.pullNotifications(.since(start), into: sink)
      #expect(report.pages == 2 && report.pieces == 2 && report.refusals.isEmpty && !report.isWindowLost)
      #expect(sink.cursors == ["apple.notifications.Production": "\(start):\(start) \(end)"])
      // The next window begins a day before the end of this one, an earlier start than all windows so far there, once.
      let earlier = start - 10 * day
      for (wanted, from) in [(start + day, end - day), (earlier, earlier), (earlier, end - day)] {
        _ = try await client.pullNotifications(.since(wanted), into: sink)
        #expect(server.requests.map(\.text).last == "{\"startDate\":\(from),\"endDate\":\(end)}")
      }
      _ = try await client.pullNotifications(.again(start), into: sink)
      #expect(server.requests.map(\.text).last == "{\"startDate\":\(start),\"endDate\":\(end)}")
      // A window does not start before what Apple keeps.
      let lost = try await client.pullNotifications(.since(start - 300 * day), into: sink)
      let oldest = Self.now - 180 * day + 600_000
      #expect(server.requests.map(\.text).last == "{\"startDate\":\(oldest),\"endDate\":\(end)}")
      #expect(lost.lost == LostWindow(from: start - 300 * day, until: oldest))
    }
  }

  @Test func windowCursorsOfOlderVersionsAreParsed() throws {
    let window = try #require(NotificationWindow("1000 2000 a page"))
    #expect(window.first == 1000 && window.start == 1000 && window.end == 2000 && window.page == "a page")
    #expect(NotificationWindow("7:1000 2000 a page")?.text == "7:1000 2000 a page")
    for text in ["", "1", "a 1", "1 b", "1:2:3 4", "1:x 4"] { #expect(NotificationWindow(text) == nil, "\(text)") }
  }

  /// Everything is rejected because the configured root is wrong. The cursor stays, so nothing is lost once the root is
  /// corrected.
  @Test func evidenceRejectedByConfigurationIsPulledAgain() async throws {
    let sink = PageSink()
    let stranger = try EphemeralCA()
    try await withClient(answer: { request, _ in Self.twoPages(request) }) { client, server in
      let wrong = try AppStoreClient(
        credentials: .init(
          issuerID: "issuer", keyID: "KEY", privateKey: key.pemRepresentation, bundleID: "org.example.maps"),
        environment: .production,
        verifier: AppleVerifier(
          identity: StoreIdentity(rootCertificates: [stranger.rootCertificate], bundleID: "org.example.maps")),
        clock: .fixed(Self.now), baseURL: server.url, rate: 1000)
      let refused = try await wrong.pullHistory(of: "1", into: sink)
      try await wrong.shutdown()
      #expect(refused.refusals.count == 3 && refused.isHeld && sink.cursors.isEmpty)
      let report = try await client.pullHistory(of: "1", into: sink)
      #expect(report.pieces == 3 && !report.isHeld && sink.cursors.values.map { $0 } == ["r2"])
    }
  }
}
