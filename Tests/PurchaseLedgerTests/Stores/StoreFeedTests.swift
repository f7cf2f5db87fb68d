// swift-format-ignore-file: OnlyOneTrailingClosureArgument
// The server's responses and the checks of its requests read best as two trailing closures.

import Crypto
import CryptoExtras
import Foundation
import StoreSimulators
import Support
import Synchronization
import TestSupport
import Testing

@testable import PurchaseLedger

/// Lists of a store that has a clock of its own, keeps them for a while and refuses what it does not like.
@Suite(.ownThread) struct StoreFeedTests {
  static let now: Int64 = 1_790_000_000_000
  static let day: Int64 = 86_400_000
  static let authority = try! EphemeralCA()

  /// A reply with the store's time.
  private static func reply(_ status: Int, _ text: String, at time: Int64 = now) -> StoreServer.Reply {
    .json(status, text, headers: ["Date": HTTPDate.text(Int(time / 1000))])
  }

  private static func apple(
    _ server: StoreServer, now: Int64 = now, environment: StoreEnvironment = .production
  ) throws -> AppStoreClient {
    try AppStoreClient(
      credentials: .init(
        issuerID: "issuer", keyID: "KEY", privateKey: P256.Signing.PrivateKey().pemRepresentation,
        bundleID: "org.example.maps"), environment: environment,
      verifier: AppleVerifier(
        identity: .init(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps")),
      clock: .fixed(now), baseURL: server.url, rate: 10_000,
      retry: .init(attemptsMax: 2, firstDelay: 0.001, delayMax: 0.002, timeout: 20))
  }

  private static func google(_ server: StoreServer, now: Int64 = now) throws -> GooglePlayClient {
    try GooglePlayClient(
      packageName: "org.example.maps", credentials: .accessToken("given"), environment: .production,
      verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")), clock: .fixed(now),
      baseURL: server.url, rate: 10_000, retry: .init(attemptsMax: 2, firstDelay: 0.001, delayMax: 0.002, timeout: 20))
  }

  private static func withApple<Value>(
    now: Int64 = now, environment: StoreEnvironment = .production,
    answer: @escaping @Sendable (StoreServer.Request, Int) -> StoreServer.Reply,
    _ body: (AppStoreClient, StoreServer) async throws -> Value
  ) async throws -> Value {
    try await StoreServer.with(
      answer, client: { try apple($0, now: now, environment: environment) }, shutdown: { try await $0.shutdown() }, body
    )
  }

  private static func page(_ pieces: [String] = [], next: String? = nil) -> String {
    let list = pieces.map { "{\"signedPayload\": \"\($0)\"}" }.joined(separator: ",")
    let token = next.map { ", \"paginationToken\": \"\($0)\"" } ?? ""
    return "{\"notificationHistory\": [\(list)], \"hasMore\": \(next != nil)\(token)}"
  }

  private static func note(_ id: String, at time: Int64, bundle: String = "org.example.maps") -> String {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id, productID: "region.alps",
      productType: .nonConsumable, purchaseDate: time, ownership: .purchased, signedDate: time, trust: .signed,
      statement: .purchased)
    let inner = try! authority.transaction(fact, bundleID: bundle)
    let note = try! authority.notification(
      type: "ONE_TIME_CHARGE", uuid: "u-\(id)", signedDate: time, environment: .production, bundleID: bundle,
      transaction: inner)
    return String(decoding: note, as: UTF8.self)
  }

  private static func window(_ sink: PageSink) throws -> NotificationWindow {
    try #require(NotificationWindow(sink.cursors["apple.notifications.Production"] ?? ""))
  }

  private static func start(_ request: StoreServer.Request) -> Int64 {
    (try? JSONReader.read(request.body))?["startDate"]?.integer ?? 0
  }

  private static func end(_ request: StoreServer.Request) -> Int64 {
    (try? JSONReader.read(request.body))?["endDate"]?.integer ?? 0
  }

  /// Minutes, days and years, either way.
  @Test(arguments: [600_000, -600_000, 2 * day, -2 * day, 3650 * day, -3650 * day] as [Int64])
  func theStoresClockCounts(_ ahead: Int64) async throws {
    let sink = PageSink()
    try await Self.withApple(
      now: Self.now + ahead,
      answer: { request, _ in
        Self.start(request) < Self.now - 180 * Self.day
          ? Self.reply(400, #"{"errorCode": 4000012}"#)
          : Self.start(request) >= Self.end(request) || Self.start(request) > Self.now
            ? Self.reply(400, #"{"errorCode": 4000013}"#)
            : Self.reply(200, Self.page([Self.note("1", at: Self.now - Self.day)]))
      }
    ) { client, _ in
      let report = try await client.pullNotifications(into: sink)
      #expect(report.pieces == 1 && !report.isWindowLost)
      #expect(abs((report.clockAhead ?? 0) - ahead) < 1000)
    }
    let window = try Self.window(sink)
    #expect(window.end <= Self.now && window.end > Self.now - 120_000 && window.start < Self.now - 29 * Self.day)
  }

  /// Google refuses an end after its own clock.
  @Test(arguments: [600_000, -600_000, 2 * day, -3650 * day] as [Int64])
  func googlesEndIsNeverAheadOfItsClock(_ ahead: Int64) async throws {
    let sink = PageSink()
    try await StoreServer.with(
      { request, _ in
        let times = ["startTime", "endTime"].map { Int64(request.query($0) ?? "") ?? 0 }
        return times[0] < Self.now - 30 * Self.day || times[1] > Self.now
          ? Self.reply(400, #"{"error": {"code": 400}}"#) : Self.reply(200, "{}")
      }, client: { try Self.google($0, now: Self.now + ahead) }, shutdown: { try await $0.shutdown() }
    ) { client, _ in
      let report = try await client.pullVoided(into: sink)
      #expect(!report.isWindowLost)
    }
    let window = try #require(NotificationWindow(sink.cursors["google.voided.Production"] ?? ""))
    #expect(window.end <= Self.now && window.end > Self.now - 120_000)
  }

  /// After days, also where the window has become too old.
  @Test func anExpiredPageTokenRestartsTheWindowInTheSameRun() async throws {
    for days in [1, 100, 179, 200] as [Int64] {
      let start = Self.now - days * Self.day
      let sink = PageSink(cursors: ["apple.notifications.Production": "\(start) \(start + 1000) old"])
      try await Self.withApple(answer: { request, _ in
        request.query("paginationToken") == nil
          ? Self.reply(200, Self.page()) : Self.reply(400, #"{"errorCode": 4000017}"#)
      }) { client, server in
        let report = try await client.pullNotifications(into: sink)
        #expect(report.isWindowLost == (days == 200))
        #expect(server.requests.contains { Self.start($0) == max(start, Self.now - 180 * Self.day + 600_000) })
      }
      let window = try Self.window(sink)
      #expect(window.page == nil && window.end == Self.now - 60_000)
    }
  }

  /// A token of an earlier pull that leads to itself is given up, so the pull is not stuck for ever.
  @Test func aTokenThatLeadsNowhereIsGivenUp() async throws {
    let start = Self.now - Self.day
    let sink = PageSink(cursors: ["apple.notifications.Production": "\(start) \(start + 1000) loop"])
    try await Self.withApple(answer: { request, _ in
      Self.reply(200, Self.page(next: request.query("paginationToken")))
    }) { client, _ in _ = try await client.pullNotifications(into: sink) }
    #expect(try Self.window(sink).page == nil)
  }

  /// Stores have been seen to keep less than they say.
  @Test func aStoreThatKeepsLessIsBelieved() async throws {
    let sink = PageSink()
    try await Self.withApple(answer: { request, _ in
      Self.start(request) < Self.now - 120 * Self.day
        ? Self.reply(400, #"{"errorCode": 4000012}"#) : Self.reply(200, Self.page())
    }) { client, _ in
      let report = try await client.pullNotifications(.since(Self.now - 300 * Self.day), into: sink)
      #expect(report.lost?.from == Self.now - 300 * Self.day && (report.lost?.until ?? 0) >= Self.now - 120 * Self.day)
    }
    // A failure that no other window mends ends the pull at once.
    try await Self.withApple(answer: { _, _ in Self.reply(400, #"{"errorCode": 4000018}"#) }) { client, server in
      await #expect(throws: LedgerError.self) { try await client.pullNotifications(into: PageSink()) }
      #expect(server.requests.count == 1)
    }
  }

  @Test func theSandboxKeepsThirtyDays() async throws {
    try await Self.withApple(environment: .sandbox, answer: { _, _ in Self.reply(200, Self.page()) }) {
      client, server in
      let report = try await client.pullNotifications(into: PageSink())
      #expect(Self.start(server.requests[0]) == Self.now - 30 * Self.day + 600_000 && !report.isWindowLost)
    }
  }

  @Test func aRefusedRevisionBeginsTheHistoryAgain() async throws {
    let sink = PageSink(cursors: ["apple.history.Production.1": "old"])
    let answer = "{\"revision\": \"new\", \"hasMore\": false, \"signedTransactions\": []}"
    try await Self.withApple(answer: { request, _ in
      request.query("revision") == nil
        ? Self.reply(200, answer) : Self.reply(400, #"{"errorCode": 4000005}"#)
    }) { client, server in
      let report = try await client.pullHistory(of: "1", into: sink)
      #expect(report.pages == 1)
      #expect(server.requests.map { $0.query("revision") } == ["old", nil])
    }
    #expect(sink.cursors == ["apple.history.Production.1": "new"])
  }

  /// Another app of the same developer, or a broken piece: told, and the next pull goes on behind it.
  @Test func aBadPieceDoesNotHoldTheCursor() async throws {
    let other = Self.note("9", at: Self.now - Self.day, bundle: "org.example.other")
    for pieces in [[other], ["a.b.c", Self.note("1", at: Self.now - Self.day)]] {
      let sink = PageSink()
      try await Self.withApple(answer: { _, _ in Self.reply(200, Self.page(pieces)) }) { client, _ in
        let report = try await client.pullNotifications(into: sink)
        #expect(report.refusals.count == 1 && !report.isHeld)
      }
      #expect(try Self.window(sink).end == Self.now - 60_000)
    }
  }

  @Test func aRefusedKeyIsNamedWithTheClock() async throws {
    try await Self.withApple(
      now: Self.now - 2 * Self.day, answer: { _, _ in Self.reply(401, "Unauthenticated") }
    ) { client, _ in
      let error = await #expect(throws: LedgerError.self) { try await client.pullNotifications(into: PageSink()) }
      let text = "\(try #require(error))"
      for word in ["KEY", "issuer", "2 days behind", "apple.keyId"] { #expect(text.contains(word), "\(text)") }
    }
    try await StoreServer.with(
      { _, _ in Self.reply(403, #"{"error": {"code": 403}}"#) }, client: { try Self.google($0) },
      shutdown: { try await $0.shutdown() }
    ) { client, _ in
      let error = await #expect(throws: LedgerError.self) { try await client.pullVoided(into: PageSink()) }
      let text = "\(try #require(error))"
      #expect(text.contains("google.accessTokenFile") && text.contains("a day"), "\(text)")
    }
  }

  @Test func aRedirectIsAFailureThatNamesTheHost() async throws {
    try await StoreServer.with(
      { _, _ in .json(Self.page()) }, client: { $0 }, shutdown: { _ in }
    ) { _, elsewhere in
      let target = elsewhere.url.replacing("127.0.0.1", with: "localhost")
      try await Self.withApple(answer: { _, _ in .json(307, "", headers: ["Location": target]) }) { client, _ in
        let error = await #expect(throws: LedgerError.self) { try await client.pullNotifications(into: PageSink()) }
        #expect(error?.code == .store && "\(error!)".contains("redirect to localhost"))
      }
      #expect(elsewhere.requests.isEmpty)
    }
  }

  @Test func plainHTTPIsForThisMachineAlone() throws {
    for url in ["https://api.example.com", "http://127.0.0.1:80", "http://localhost", "http://[::1]:8"] {
      #expect(try StoreRequests.checked(url, option: "apple.baseUrl") == url)
    }
    for url in ["http://api.example.com", "http://127.0.0.1.example.com", "http://10.0.0.1", "http://127.example"] {
      let error = #expect(throws: LedgerError.self) { try StoreRequests.checked(url, option: "apple.baseUrl") }
      #expect(error?.path == "apple.baseUrl" && error?.code == .configuration)
    }
  }

  /// Google answers a grant of a wrong time with 400. That is no answer about a purchase, which would settle it.
  @Test func aRefusedGrantNamesTheServiceAccount() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    try await StoreServer.with(
      { _, _ in Self.reply(400, #"{"error": "invalid_grant", "error_description": "Check your iat and exp values"}"#) },
      client: { server in
        try GooglePlayClient(
          packageName: "org.example.maps",
          credentials: .serviceAccount(
            email: "robot@example.org", privateKey: key.pemRepresentation, tokenURI: server.url + "/token"),
          environment: .production, verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")),
          clock: .fixed(Self.now + 2 * Self.day), baseURL: server.url, rate: 10_000)
      }, shutdown: { try await $0.shutdown() }
    ) { client, server in
      let error = await #expect(throws: LedgerError.self) {
        try await client.pullProduct("region.alps", token: "t", into: PageSink())
      }
      let text = "\(try #require(error))"
      #expect(error?.code == .store && text.contains("robot@example.org") && text.contains("2 days ahead"), "\(text)")
      // Asked once more, with the time that the first refusal told.
      #expect(server.requests.count == 2)
    }
  }

  /// Nightly pulls against a store in virtual time: entries that appear late, tokens that expire, failures in the
  /// middle, pauses, and a clock of ours that is wrong by minutes, days and years. At the end each entry was read, or
  /// lies in a gap that was told.
  @Test(arguments: 0..<2) func everyEntryIsReadOrItsLossIsTold(seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var pulls = [Self.now]
    for number in 0..<60 {
      pulls.append(
        pulls[number] + Int64.random(in: 3_600_000...(number % 20 == 19 ? 190 : 3) * Self.day, using: &random))
    }
    var entries: [(id: String, at: Int64, seen: Int64, text: String)] = []
    for number in 0..<60 {
      // Every other entry is of the minutes before a pull, and appears after it.
      let (isLate, pull) = (number % 2 == 0, pulls[number])
      let at =
        isLate
        ? pull - Int64.random(in: 61_000...240_000, using: &random)
        : Int64.random(in: pulls[0]...pulls[60], using: &random)
      let seen = isLate ? pull + 30_000 : at
      entries.append(("\(number)", at, seen, Self.note("\(number)", at: at)))
    }
    entries.sort { $0.at < $1.at }
    let list = entries
    let state = Mutex((time: pulls[0], isDown: false))
    let sink = PageSink()
    var lost: [LostWindow] = []
    let server = try await StoreServer.start { request, _ in
      let (now, isDown) = state.withLock { ($0.time, $0.isDown) }
      let (start, end) = (Self.start(request), min(Self.end(request), now))
      if start < now - 180 * Self.day { return Self.reply(400, #"{"errorCode": 4000012}"#, at: now) }
      if start >= end { return Self.reply(400, #"{"errorCode": 4000013}"#, at: now) }
      let token = request.query("paginationToken")?.split(separator: "-").compactMap { Int64($0) }
      if let token, token[1] != now { return Self.reply(400, #"{"errorCode": 4000017}"#, at: now) }
      if token != nil, isDown { return Self.reply(500, #"{"errorCode": 5000000}"#, at: now) }
      let found = list.filter { (start..<end).contains($0.at) && $0.seen <= now }
      let from = Int(token?[0] ?? 0)
      let next = from + 3 < found.count ? "\(from + 3)-\(now)" : nil
      return Self.reply(200, Self.page(found.dropFirst(from).prefix(3).map(\.text), next: next), at: now)
    }
    for number in 0..<60 {
      let (isLast, time) = (number == 59, pulls[number + 1])
      let clocks = [0, 0, 600_000, -600_000, 2 * Self.day, -2 * Self.day, 3650 * Self.day, -3650 * Self.day]
      let ahead = isLast ? 0 : clocks.randomElement(using: &random)!
      let isDown = !isLast && Bool.random(using: &random)
      state.withLock { $0 = (time, isDown) }
      let client = try Self.apple(server, now: time + ahead)
      do {
        let report = try await client.pullNotifications(into: sink)
        if let gap = report.lost { lost.append(gap) }
      } catch { #expect(isDown, "seed \(seed): \(error)") }
      try await client.shutdown()
      if let text = sink.cursors["apple.notifications.Production"] {
        #expect(try #require(NotificationWindow(text)).end <= time, "seed \(seed)")
      }
    }
    lost += sink.lost
    let read = Set(sink.transactionIDs.joined())
    for entry in list where entry.at < pulls[60] - 60_000 && !read.contains(entry.id) {
      #expect(
        lost.contains { ($0.from...$0.until).contains(entry.at) }, "seed \(seed): entry \(entry.id) was never read")
    }
    #expect(!read.isEmpty)
    try await server.stop()
  }
}
