import Crypto
import Foundation
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// Recorded responses of the App Store Server API from the index, served to the client, by entry number.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct AppStoreModelTests {
  private static func model(_ number: String) -> String {
    String(decoding: ReceiptIndex.item("api-model-json-\(number)").bytes, as: UTF8.self)
  }

  private func withClient<Value>(
    answer: @escaping @Sendable (StoreServer.Request, Int) -> StoreServer.Reply,
    _ body: (AppStoreClient, StoreServer) async throws -> Value
  ) async throws -> Value {
    let server = try await StoreServer.start(answer)
    let identity = StoreIdentity(rootCertificates: [try EphemeralCA().rootCertificate])
    let client = try AppStoreClient(
      credentials: .init(
        issuerID: "issuer", keyID: "KEY", privateKey: P256.Signing.PrivateKey().pemRepresentation,
        bundleID: "com.example"),
      environment: .production, verifier: AppleVerifier(identity: identity), clock: .fixed(testNow),
      baseURL: server.url, rate: 1000, retry: .init(attemptsMax: 3, firstDelay: 0.01, delayMax: 0.02))
    let result: Result<Value, any Error>
    do { result = .success(try await body(client, server)) } catch { result = .failure(error) }
    try await client.shutdown()
    try await server.stop()
    return try result.get()
  }

  /// All of these are permanent and not retried.
  @Test(arguments: [("065", 500), ("067", 400), ("070", 404), ("076", 400), ("091", 400)])
  func entries065To091_permanentFailureEndsThePullAndNamesItsCode(_ number: String, _ status: Int) async throws {
    let body = Self.model(number)
    let code = try #require(try JSONReader.read(Array(body.utf8))["errorCode"]?.integer)
    let answer: @Sendable (StoreServer.Request, Int) -> StoreServer.Reply = { _, _ in .json(status, body) }
    try await withClient(answer: answer) { client, server in
      let sink = PageSink()
      let error = await #expect(throws: LedgerError.self) { try await client.pullHistory(of: "1", into: sink) }
      #expect(error.map { "\($0)".contains("\(code)") } == true, "\(String(describing: error))")
      #expect(server.requests.count == 1 && sink.cursors.isEmpty && sink.transactionIDs.isEmpty)
    }
  }

  @Test func entry072_notificationHistoryIsPagedByItsToken() async throws {
    let page = Self.model("072")
    let last = #"{"hasMore": false, "notificationHistory": []}"#
    let answer: @Sendable (StoreServer.Request, Int) -> StoreServer.Reply = { _, number in
      .json(number == 0 ? page : last)
    }
    try await withClient(answer: answer) { client, server in
      let sink = PageSink()
      let report = try await client.pullNotifications(.since(1_698_000_000_000), into: sink)
      // Both payloads are placeholders: they are reported as rejected, and the pages count.
      #expect(report.pages == 2 && report.pieces == 0 && report.refusals.map(\.code) == [.malformed, .malformed])
      #expect(
        server.requests.map { $0.query("paginationToken") } == [nil, "57715481-805a-4283-8499-1c19b5d6b20a"])
    }
  }

  /// 089 is the same page with an unknown environment. The signed pieces state the environment, not the page.
  @Test(arguments: ["087", "089"]) func entries087And089_historyIsPagedByItsRevision(_ number: String) async throws {
    let page = Self.model(number)
    let last = #"{"hasMore": false, "revision": "end", "signedTransactions": []}"#
    let answer: @Sendable (StoreServer.Request, Int) -> StoreServer.Reply = { _, number in
      .json(number == 0 ? page : last)
    }
    try await withClient(answer: answer) { client, server in
      let sink = PageSink()
      let report = try await client.pullHistory(of: "1", into: sink)
      #expect(server.requests.map { $0.query("revision") } == [nil, "revision_output"])
      #expect(report.pages == 2 && report.pieces == 0 && report.refusals.map(\.code) == [.malformed, .malformed])
      #expect(sink.cursors.values.contains("end"))
    }
  }
}
