import Crypto
import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The commands of docs/how-to/stores.md, in their order and with its configuration, against simulated stores.
@Suite(.ownThread) struct RunbookTests {
  private static func page() throws -> String {
    try String(contentsOfFile: ProjectFiles.path("docs/how-to/stores.md"), encoding: .utf8)
  }

  private static func answer(_ request: StoreServer.Request, _ number: Int) -> StoreServer.Reply {
    if request.path == "/token" { return .json(#"{"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}"#) }
    if request.path.hasSuffix("/notifications/history") {
      return .json(#"{"notificationHistory": [], "hasMore": false}"#)
    }
    return .json("{}")
  }

  /// The page's `ledger.json` with the files that it names, and the addresses of the simulated stores.
  private func shop(_ server: StoreServer, _ page: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let text = try #require(page.firstMatch(of: /(?s)```json\n(.*?)```/)).1
    guard case .object(var members) = try JSONValue(parsing: Array(text.utf8)) else { return folder }
    for index in members.indices where ["apple", "google"].contains(members[index].name) {
      guard case .object(let store) = members[index].value else { continue }
      members[index].value = .object(store + [.init("baseUrl", .string(server.url))])
    }
    try folder.write("ledger.json", JSONValue.object(members).text)
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    try folder.write("AppleRootCA-G3.cer", bytes: EphemeralCA().rootCertificate)
    try folder.write("google-licensing-key.txt", key.publicKey.derRepresentation.base64EncodedString())
    try folder.write("SubscriptionKey_2X9R4HXF34.p8", P256.Signing.PrivateKey().pemRepresentation)
    let account = JSONValue.object([
      .init("type", .string("service_account")), .init("client_email", .string("books@example.org")),
      .init("private_key", .string(key.pemRepresentation)), .init("token_uri", .string("\(server.url)/token")),
    ])
    try folder.write("service-account.json", account.text)
    return folder
  }

  @Test func commandsOfThePageEndAsItSays() async throws {
    let page = try Self.page()
    try await StoreServer.with(Self.answer) { _ in
    } shutdown: { _ in
    } _: { _, server in
      let folder = try shop(server, page)
      let blocks = page.matches(of: /(?s)```\n(purchase-ledger .*?)\n```/).map { String($0.1) }
      try #require(blocks.count == 3)
      let lines = blocks.flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("purchase-ledger ") }
      var names: Set<String> = []
      for line in lines {
        // What follows belongs to a program that may not be installed.
        let words = line.prefix { $0 != "|" }.split(separator: " ").dropFirst().map(String.init)
        let run = try Command(built: "purchase-ledger").run(words, in: folder.path)
        #expect(run.status == 0, "\(line): \(run)")
        names.insert(words[0])
      }
      #expect(names == ["init", "pull", "reconcile", "backup", "status"])
      #expect(server.requests.contains { $0.path.hasSuffix("/notifications/history") })
      #expect(server.requests.contains { $0.path.hasSuffix("/voidedpurchases") })
    }
  }

  /// The filter for Prometheus makes a line of each value and condition.
  @Test(.enabled(if: Command(installed: "jq") != nil, "jq is not installed"))
  func filterOfThePageMakesMetrics() throws {
    let filter = try #require(try Self.page().firstMatch(of: /(?s)jq -r '\n(.*?)' > ledger\.prom/)).1
    let folder = try TemporaryFolder()
    var status = LedgerStatus()
    status.now = 1_790_000_000_000
    status.feeds = [.init(store: .apple, environment: .production, transactions: 1, pulledAt: status.now - 60_000)]
    status.conditions = [.init(code: .clock, store: .apple, environment: .production, message: "m")]
    try folder.write("status.json", status.json.text)
    let jq = try #require(Command(installed: "jq"))
    let run = try jq.run(["-r", String(filter), folder.file("status.json")])
    #expect(
      run.stdoutLines == [
        "purchase_ledger_time_seconds 1790000000", #"purchase_ledger_condition{code="clock"} 1"#,
        #"purchase_ledger_pull_age_seconds{store="apple",environment="Production"} 60"#, "purchase_ledger_events 0",
      ], "\(run)")
  }

  /// Each word of `status` is in the reference with its threshold, and in the runbook with what to do.
  @Test func wordsOfStatusAreDocumented() throws {
    let reference = try String(contentsOfFile: ProjectFiles.path("docs/reference/ledger.md"), encoding: .utf8)
    let page = try Self.page()
    for code in StatusCondition.Code.allCases {
      #expect(reference.contains("\n| `\(code.rawValue)` |"), "\(code)")
      #expect(page.matches(of: /(?m)^\| (`.*?) \|/).contains { $0.1.contains("`\(code.rawValue)`") }, "\(code)")
    }
  }
}
