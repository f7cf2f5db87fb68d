// swift-format-ignore-file: OnlyOneTrailingClosureArgument
// The server's responses and the checks of its requests read best as two trailing closures.

import CryptoExtras
import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// The Android Publisher API client against a test server, including failures.
@Suite(.ownThread) struct GooglePlayClientTests {
  static let now: Int64 = 1_790_000_000_000
  static let day: Int64 = 86_400_000
  static let start = now - day
  /// The end of a window: not ahead of the store's clock.
  static let end = now - 60_000

  private func withClient<Value>(
    credentials: ((StoreServer) -> GoogleCredentials)? = nil,
    answer: @escaping @Sendable (StoreServer.Request, Int) -> StoreServer.Reply,
    _ body: (GooglePlayClient, StoreServer) async throws -> Value
  ) async throws -> Value {
    try await StoreServer.with(
      answer,
      client: { server in
        try GooglePlayClient(
          packageName: "org.example.maps", credentials: credentials?(server) ?? .accessToken("given"),
          environment: .production, verifier: GoogleVerifier(identity: .init(packageName: "org.example.maps")),
          clock: .fixed(Self.now), baseURL: server.url, rate: 1000,
          retry: .init(attemptsMax: 3, firstDelay: 0.01, delayMax: 0.02, timeout: 20))
      }, shutdown: { try await $0.shutdown() }, body)
  }

  private static func voided(_ ids: [String], next: String?) -> StoreServer.Reply {
    let entries = ids.map {
      """
      {"orderId": "\($0)", "purchaseToken": "t\($0)", "purchaseTimeMillis": "1780000000000", \
      "voidedTimeMillis": "1789000000000"}
      """
    }
    let page = next.map { ", \"tokenPagination\": {\"nextPageToken\": \"\($0)\"}" } ?? ""
    return .json("{\"voidedPurchases\": [\(entries.joined(separator: ","))]\(page)}")
  }

  @Test func purchaseIsRequestedByProductAndToken() async throws {
    let sink = PageSink()
    try await withClient(answer: { _, _ in
      .json("{\"purchaseTimeMillis\": \"1780000000000\", \"purchaseState\": 0, \"orderId\": \"GPA.1\"}")
    }) { client, server in
      let found = try await client.pullProduct("region.alps", token: "a/b", into: sink).pieces
      #expect(found == 1)
      let target = "/androidpublisher/v3/applications/org.example.maps/purchases/productsv2/tokens/a%2Fb"
      #expect(server.requests.map(\.target) == [target])
      #expect(server.requests.first?.field("authorization") == "Bearer given")
    }
    #expect(sink.transactionIDs == [["GPA.1"]])
  }

  /// Where the current interface is not found the old one answers, and is asked first from then on. It also says what
  /// the current one leaves open: when a pending purchase was begun, and why one without order cost nothing.
  @Test(arguments: ["missing", "pending", "promotion"]) func theOldInterfaceStays(_ case: String) async throws {
    let sink = PageSink()
    try await withClient(answer: { request, _ in
      guard request.path.contains("/productsv2/") else {
        let state = `case` == "pending" ? 2 : 0
        return .json(
          #"{"purchaseTimeMillis": "1780000000000", "purchaseState": \#(state), "purchaseType": 1, "quantity": 1}"#)
      }
      let line = #""productLineItem": [{"productId": "region.alps"}]"#
      return switch `case` {
      case "missing": .json(404, "<html>not here")
      case "pending": .json(#"{"orderId": "GPA.1", "purchaseStateContext": {"purchaseState": "PENDING"}, \#(line)}"#)
      default:
        .json(
          #"{"purchaseStateContext": {"purchaseState": "PURCHASED"}, "#
            + #""purchaseCompletionTime": "2026-05-28T20:26:40Z", \#(line)}"#)
      }
    }) { client, server in
      for token in ["t1", "t2"] {
        let report = try await client.pullProduct("region.alps", token: token, into: sink)
        #expect(report.facts.map(\.reason) == ["PROMOTION"] && report.facts.map(\.transactionID) == [token])
        #expect(report.facts.map(\.statement) == [`case` == "pending" ? .pending : .purchased])
      }
      #expect(server.requests.count { $0.path.contains("/productsv2/") } == (`case` == "missing" ? 1 : 2))
    }
  }

  @Test func aRentalAndAPreorderAreTold() async throws {
    let sink = PageSink()
    try await withClient(answer: { _, _ in
      .json(
        """
        {"orderId": "GPA.1", "purchaseStateContext": {"purchaseState": "PURCHASED"},
        "purchaseCompletionTime": "2026-05-28T20:26:40Z", "productLineItem": [
          {"productId": "region.alps", "productOfferDetails": {"purchaseOptionId": "rent", "rentOfferDetails": {}}},
          {"productId": "region.etna", "productOfferDetails": {"purchaseOptionId": "buy", "offerId": "early",
            "preorderOfferDetails": {}, "quantity": 2}}]}
        """)
    }) { client, _ in
      let facts = try await client.pullProduct(nil, token: "t", ofSeveral: true, into: sink).facts
      #expect(facts.map(\.productType) == [.consumable, .unknown] && facts.map(\.quantity) == [1, 2])
      #expect(facts.map(\.transactionID) == ["GPA.1", "GPA.1/region.etna"])
    }
    let details = sink.evidence.flatMap(\.content.details).map { "\($0.name) \($0.value)" }
    #expect(
      details == [
        "packageName org.example.maps", "purchaseState PURCHASED", "purchaseOptionId rent", "rental region.alps",
        "purchaseOptionId buy", "offerId early", "preorder region.etna",
      ])
  }

  @Test func acknowledgingIsIdempotent() async throws {
    try await withClient(answer: { _, number in number == 0 ? .json(503, "") : .json(200, "") }) { client, server in
      try await client.acknowledge("region.alps", token: "t")
      try await client.acknowledge("region.alps", token: "t")
      #expect(server.requests.count == 3)
      #expect(server.requests.allSatisfy { $0.method == "POST" && $0.path.hasSuffix("/tokens/t:acknowledge") })
    }
  }

  @Test func serviceAccountTokenIsCachedAndRenewedWhenRejected() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let account = { (server: StoreServer) -> GoogleCredentials in
      .serviceAccount(email: "books@example.org", privateKey: key.pemRepresentation, tokenURI: "\(server.url)/token")
    }
    try await withClient(
      credentials: account,
      answer: { request, number in
        if request.path == "/token" { return .json("{\"access_token\": \"k\(number)\", \"expires_in\": 3600}") }
        return number == 1 ? .json(401, "{\"error\": {\"code\": 401}}") : .json("")
      }
    ) { client, server in
      try await client.acknowledge("p", token: "t")
      try await client.acknowledge("p", token: "t")
      // First pull: token, rejected, new token, success. Second pull: the cached token.
      #expect(server.requests.map { $0.path == "/token" } == [true, false, true, false, false])
      #expect(
        server.requests.map { $0.field("authorization") ?? "" } == [
          "", "Bearer k0", "", "Bearer k2", "Bearer k2",
        ])
      let form = server.requests[0].text
      #expect(form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))
      let token = try #require(form.split(separator: "=").last).split(separator: ".")
      let signed = Data(token[0...1].joined(separator: ".").utf8)
      var text = token[2].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
      text += String(repeating: "=", count: (4 - text.count % 4) % 4)
      let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Data(base64Encoded: text)))
      #expect(key.publicKey.isValidSignature(signature, for: signed, padding: .insecurePKCS1v1_5))
    }
  }

  @Test func case33_permissionDeniedIsRetriedAndChangesNothing() async throws {
    let sink = PageSink()
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(answer: { _, _ in
        .json(401, "{\"error\": {\"code\": 401, \"message\": \"insufficient permissions\"}}")
      }) { client, server in
        do { _ = try await client.pullVoided(.since(Self.start), into: sink) } catch {
          #expect(server.requests.count == 3)
          throw error
        }
      }
    }
    #expect(error?.message.contains("insufficient permissions") == true && sink.cursors.isEmpty)
  }

  @Test func case34_aRepeatedPageTokenStopsThePullWhichResumes() async throws {
    let sink = PageSink()
    let error = await #expect(throws: LedgerError.self) {
      try await withClient(answer: { request, _ in
        Self.voided([request.query("token") == nil ? "1" : "2"], next: "p1")
      }) { client, _ in _ = try await client.pullVoided(.since(Self.start), into: sink) }
    }
    #expect(error?.message.contains("page token") == true)
    #expect(sink.cursors == ["google.voided.Production": "\(Self.start):\(Self.start) \(Self.end) p1"])
    try await withClient(answer: { _, _ in Self.voided(["2"], next: nil) }) { client, server in
      _ = try await client.pullVoided(into: sink)
      // The window that was left is read to its end, then what came since then.
      #expect(server.requests.map { $0.query("token") } == ["p1", nil])
    }
    #expect(sink.cursors == ["google.voided.Production": "\(Self.start):\(Self.end - Self.day) \(Self.end)"])
    #expect(sink.transactionIDs == [["1"], ["2"], ["2"], ["2"]])
  }

  @Test func anExpiredPageTokenRestartsTheWindow() async throws {
    let sink = PageSink(cursors: ["google.voided.Production": "\(Self.start):\(Self.start) \(Self.now - 5) old"])
    try await withClient(answer: { request, _ in
      request.query("token") == nil ? Self.voided(["1"], next: nil) : .json(400, "{\"error\": {\"code\": 400}}")
    }) { client, server in
      _ = try await client.pullVoided(into: sink)
      #expect(server.requests.map { $0.query("startTime") } == ["\(Self.now - Self.day)", "\(Self.now - Self.day)"])
    }
    #expect(sink.cursors == ["google.voided.Production": "\(Self.start):\(Self.start) \(Self.end)"])
  }

  @Test func case39_aGapOfMoreThan30DaysIsReported() async throws {
    let last = Self.now - 31 * Self.day
    let sink = PageSink(cursors: ["google.voided.Production": "\(last - Self.day) \(last)"])
    try await withClient(answer: { _, _ in Self.voided(["1"], next: nil) }) { client, server in
      let report = try await client.pullVoided(into: sink)
      #expect(report.isWindowLost && report.pieces == 1)
      // Google rejects a start that is older than its list.
      let start = try #require(server.requests.first?.query("startTime").flatMap { Int64($0) })
      #expect(start > Self.now - 30 * Self.day)
      let again = try await client.pullVoided(into: sink)
      #expect(!again.isWindowLost)
    }
  }
}
