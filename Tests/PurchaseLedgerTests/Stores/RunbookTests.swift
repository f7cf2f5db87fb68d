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

  private static let key = try! _RSA.Signing.PrivateKey(keySize: .bits2048)
  private static let authority = try! EphemeralCA()
  private static let day: Int64 = 86_400_000

  /// The page's `ledger.json` with the files that it names, the addresses of the simulated stores and their keys.
  private final class Shop {
    let clock = SimulatedClock(at: WallClock.now())
    let folder: TemporaryFolder
    let stores: SimulatedStores

    init(orders: [PlayOrder] = [], faults: [StoreFault] = []) async throws {
      folder = try TemporaryFolder()
      let text = try #require(try RunbookTests.page().firstMatch(of: /(?s)```json\n(.*?)```/)).1
      let values = try JSONValue(parsing: Array(text.utf8))
      guard case .object(var members) = values else { throw LedgerError(.input, at: "ledger.json", "is no object") }
      var apple = AppStoreSimulator.Setup(authority)
      apple.bundleID = values["bundleId"]?.string ?? ""
      apple.appAppleID = values["appAppleId"]?.integer ?? 0
      apple.issuerID = values["apple"]?["issuerId"]?.string ?? ""
      apple.keyID = values["apple"]?["keyId"]?.string ?? ""
      apple.faults = faults
      var play = PlaySimulator.Setup(key)
      play.packageName = values["packageName"]?.string ?? ""
      play.faults = faults
      stores = try await SimulatedStores.start(
        AppStoreSimulator(apple, clock: clock) { [] }, PlaySimulator(play, clock: clock, orders: orders), clock: clock)
      for index in members.indices where ["apple", "google"].contains(members[index].name) {
        guard case .object(let store) = members[index].value else { continue }
        members[index].value = .object(store + [.init("baseUrl", .string(stores.url))])
      }
      try folder.write("ledger.json", JSONValue.object(members).text)
      try folder.write("AppleRootCA-G3.cer", bytes: authority.rootCertificate)
      try folder.write("google-licensing-key.txt", key.publicKey.derRepresentation.base64EncodedString())
      try folder.write("SubscriptionKey_2X9R4HXF34.p8", stores.apple.key.pemRepresentation)
      let account = JSONValue.object([
        .init("type", .string("service_account")), .init("client_email", .string(play.email)),
        .init("private_key", .string(key.pemRepresentation)), .init("token_uri", .string(stores.tokenURI)),
      ])
      try folder.write("service-account.json", account.text)
    }

    /// Runs a line of the page at the time of the simulated stores.
    func run(_ line: String) throws -> CommandRun {
      // What follows belongs to a program that may not be installed.
      let words = line.prefix { $0 != "|" }.split(separator: " ").dropFirst().map { String($0) }
      return try Command(built: "purchase-ledger").run(words + ["--now", "\(clock.now)"], in: folder.path)
    }
  }

  /// The blocks of commands: the first night, the alerts, after an outage.
  private static func blocks() throws -> [[String]] {
    let blocks = try page().matches(of: /(?s)```\n(purchase-ledger .*?)\n```/).map { String($0.1) }
    try #require(blocks.count == 3)
    return blocks.map { block in
      block.split(separator: "\n").map { String($0) }.filter { $0.hasPrefix("purchase-ledger ") }
    }
  }

  @Test func commandsOfThePageEndAsItSays() async throws {
    let shop = try await Shop()
    var names: Set<String> = []
    for line in try Self.blocks().flatMap(\.self) {
      let run = try shop.run(line)
      #expect(run.status == 0, "\(line): \(run)")
      names.insert(String(line.split(separator: " ")[1]))
    }
    #expect(names == ["init", "pull", "reconcile", "backup", "status"])
    #expect(shop.stores.server.requests.contains { $0.path.hasSuffix("/notifications/history") })
    #expect(shop.stores.server.requests.contains { $0.path.hasSuffix("/voidedpurchases") })
    try await shop.stores.server.stop()
  }

  /// In forty days without a pull a purchase is refunded, and Google's list no longer says so.
  @Test func commandsAfterAnOutageCloseTheGap() async throws {
    let bought = WallClock.now() - Self.day
    var order = PlayOrder(orderID: "GPA.1", token: "token-1", products: ["region.alps"], boughtAt: bought)
    order.refund = .init(at: bought + 4 * Self.day, seenAt: bought + 4 * Self.day)
    let shop = try await Shop(orders: [order])
    let blocks = try Self.blocks()
    #expect(try shop.run(blocks[0][0]).status == 0)
    try shop.folder.write("purchase.json", bytes: try shop.stores.play.signedPurchase(order, at: shop.clock.now))
    let imported = try shop.run("purchase-ledger import purchase.json --config ledger.json")
    #expect(imported.status == 0, "\(imported)")
    for line in blocks[0].dropFirst() {
      let run = try shop.run(line)
      #expect(run.status == 0, "\(line): \(run)")
    }
    #expect(shop.stores.play.present[0].acknowledgedAt != nil)
    shop.clock.advance(by: 40 * Self.day)
    let pulled = try blocks[2].map { try shop.run($0) }
    // The gap is said once, by the run that closes it.
    #expect(pulled.map(\.status) == [1, 0, 0] && pulled[0].stderr.contains("window-lost"), "\(pulled)")
    let after = try shop.run(blocks[1][0])
    #expect(!after.stdout.contains("window-lost"), "\(after)")
    #expect(try shop.run("purchase-ledger history GPA.1 --config ledger.json").stdout.contains("revoked"))
    try await shop.stores.server.stop()
  }

  /// What the table of messages says of a missing permission and a quota: the run ends with 1, and the next goes on.
  @Test(arguments: [
    (StoreFault.Kind.forbidden, "books@simulated.iam.gserviceaccount.com"), (.quotaExceeded, "quota is used up"),
  ])
  func messagesOfThePageAreThoseOfThePull(_ kind: StoreFault.Kind, _ text: String) async throws {
    let shop = try await Shop(faults: [StoreFault(.google, kind, 0..<(.max), calls: [.list, .purchase])])
    let blocks = try Self.blocks()
    #expect(try shop.run(blocks[0][0]).status == 0)
    let pull = try shop.run(blocks[0][1])
    #expect(pull.status == 1 && pull.stdout.contains(text), "\(pull)")
    try await shop.stores.server.stop()
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
