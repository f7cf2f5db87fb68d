import Foundation
import MapStoreWire
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// The built `mapstore serve` as operators run it.
@Suite(.ownThread) struct ServerProcessTests {
  private func evidence(_ shop: ServerProcess.Shop, _ id: Int) throws -> String {
    try shop.evidence(TestCatalog.regions[id % 4], id: id)
  }

  /// Case 35: the server is killed with -9 during purchases, at any point of each. Answered ones are recorded, others
  /// are submitted again, and everything is granted once.
  @Test func case35KilledWhilePurchasesAreRecorded() throws {
    let shop = try ServerProcess.Shop()
    let all = try (0..<60).map { try evidence(shop, $0) }
    let answered = Locked<Set<Int>>([])
    let session = try shop.openSession()
    for round in 0..<3 {
      let server = try ServerProcess(shop)
      let port = server.port
      let done = DispatchGroup()
      for worker in 0..<4 {
        done.enter()
        Thread.detachNewThread {
          defer { done.leave() }
          for id in stride(from: worker, to: all.count, by: 4) {
            // Started again in each round: most are submitted again.
            let submission = PurchaseSubmission(transactions: [all[id]])
            guard let body = try? WireJSON.encode(submission),
              let answer = try? TestStore.request(
                port: port, "POST", StoreRoute.purchases.path, token: session.token, body: body),
              answer.status == 200
            else { return }
            answered.withLock { _ = $0.insert(id) }
          }
        }
      }
      let wanted = 10 * (round + 1)
      #expect(eventually(seconds: 60) { answered.withLock { $0.count } >= wanted })
      server.process.send(SIGKILL)
      done.wait()
    }
    let server = try ServerProcess(shop)
    let answer = try server.send(
      "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: all))
    let results = try WireJSON.decode(PurchaseResults.self, from: answer.body).results
    #expect(results.count == all.count && results.allSatisfy { $0.shouldFinish && $0.items[0].entitlement == .active })
    // Nothing that was acknowledged had to be recorded again.
    for id in answered.withLock({ $0 }) { #expect(results[id].outcome == .alreadyOwned, "\(id)") }
    // A second process with the ledger open keeps SQLite from recreating the log.
    let other = try Ledger.openToRead(at: shop.ledger, clock: .system)
    #expect(try other.entitlements(of: AccountID(UUID())).isEmpty)
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
    #expect(try shop.folder.bytes("ledger.sqlite-wal").isEmpty)
    other.close()
    let ledger = try Ledger.open(at: shop.ledger, policy: nil, clock: .system)
    let report = try ledger.verify(head: nil) { _, _ in }
    #expect(report.findingCount == 0, "\(report.findings)")
    let account = try #require(AccountID(session.account.id))
    #expect(try ledger.entitlements(of: account).count == all.count)
  }

  /// Case 35 for messages: the server is killed while a store sends refunds. Acknowledged ones are recorded, others are
  /// sent again, and each counts once.
  @Test func killedWhileMessagesAreRecorded() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    let bought = try (0..<40).map { try evidence(shop, $0) }
    let messages = try bought.enumerated().map { index, transaction in
      let payload = try shop.authority.notification(
        type: "REFUND", uuid: "6a1c9f8e-0000-4000-8000-\(100_000_000_000 + index)",
        signedDate: LedgerClock.system.now() - 1000, environment: .production, bundleID: TestStore.bundleID,
        transaction: Array(transaction.utf8))
      return Array("{\"signedPayload\":\"\(String(decoding: payload, as: UTF8.self))\"}".utf8)
    }
    let acknowledged = Locked<Set<Int>>([])
    for round in 0..<2 {
      let server = try ServerProcess(shop)
      if round == 0 {
        let answer = try server.send(
          "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: bought))
        try #require(answer.status == 200)
      }
      let (port, done) = (server.port, DispatchGroup())
      for worker in 0..<2 {
        done.enter()
        Thread.detachNewThread {
          defer { done.leave() }
          for index in stride(from: worker, to: messages.count, by: 2) {
            guard
              let answer = try? TestStore.request(
                port: port, "POST", StoreRoute.appleNotifications.path, body: messages[index]), answer.status == 200
            else { return }
            acknowledged.withLock { _ = $0.insert(index) }
          }
        }
      }
      #expect(eventually(seconds: 60) { acknowledged.withLock { $0.count } >= 8 * (round + 1) })
      server.process.send(SIGKILL)
      done.wait()
    }
    let server = try ServerProcess(shop)
    for (index, message) in messages.enumerated() {
      let answer = try TestStore.request(
        port: server.port, "POST", StoreRoute.appleNotifications.path, body: message)
      #expect(answer.status == 200, "\(answer)")
      if acknowledged.withLock({ $0.contains(index) }) { #expect(answer.text == "duplicate\n", "\(index)") }
    }
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
    let ledger = try Ledger.open(at: shop.ledger, policy: nil, clock: .system)
    #expect(try ledger.verify(head: nil) { _, _ in }.findingCount == 0)
    let account = try #require(AccountID(session.account.id))
    let entitlements = try ledger.entitlements(of: account)
    #expect(entitlements.count == messages.count && entitlements.allSatisfy { $0.status == .revoked })
  }

  /// `purchase-ledger import` records a store's export during purchases.
  @Test func importWhilePurchasesArePosted() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    let server = try ServerProcess(shop)
    let all = try (0..<160).map { try evidence(shop, $0) }
    let (imported, posted) = (all.prefix(120), all.suffix(60))
    let file = try shop.folder.write("export.jsonl", imported.joined(separator: "\n") + "\n")
    let process = try Command(built: "purchase-ledger").start([
      "import", file, "--ledger", shop.ledger, "--root-certificate", shop.folder.file("root.der"), "--bundle-id",
      TestStore.bundleID, "--batch", "4",
    ])
    // Twenty are in both.
    for transaction in posted {
      let answer = try server.send(
        "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: [transaction]))
      let results = try WireJSON.decode(PurchaseResults.self, from: answer.body).results
      #expect(results.count == 1 && results[0].shouldFinish && results[0].items[0].entitlement == .active, "\(answer)")
    }
    let run: CommandRun = process.wait(timeout: 120)
    #expect(run.status == 0, "\(run)")
    let ledger = try Ledger.open(at: shop.ledger, policy: nil, clock: .system)
    #expect(try ledger.verify(head: nil) { _, _ in }.findingCount == 0)
    let account = try #require(AccountID(session.account.id))
    #expect(try ledger.entitlements(of: account).count == posted.count)
    for id in all.indices {
      let key = TransactionKey(store: .apple, environment: .production, id: "\(id)")
      #expect(try ledger.entitlement(of: key) != nil, "\(id)")
    }
  }

  /// The key of links is changed as docs/reference/store.md says: the new one before the old one, which is removed
  /// later.
  @Test func linkKeysRotate() throws {
    let shop = try ServerProcess.Shop()
    try shop.folder.write("new.key", bytes: (0..<32).map { _ in UInt8.random(in: 0...255) })
    func serve(_ keys: [String]) throws -> ServerProcess {
      let path = shop.folder.file("store.json")
      var text = try String(contentsOfFile: path, encoding: .utf8)
      let list = keys.map { "\"\($0)\"" }.joined(separator: ", ")
      text.replace(/"hmacKeyFiles": \[[^\]]*\]/, with: "\"hmacKeyFiles\": [\(list)]")
      try shop.folder.write("store.json", text)
      return try ServerProcess(shop)
    }
    func link(_ server: ServerProcess, _ session: SessionDetails) throws -> String {
      let answer = try server.send(
        "POST", StoreRoute.downloads.path, token: session.token, DownloadRequest(regionId: "alps", kind: .bundle))
      return try WireJSON.decode(DownloadTicket.self, from: answer.body).url
    }
    let first = try serve(["link.key"])
    let session = try shop.openSession()
    _ = try first.send(
      "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: [try evidence(shop, 4)])
    )
    let old = try link(first, session)
    first.process.send(SIGKILL)
    _ = first.process.wait()
    let both = try serve(["new.key", "link.key"])
    let new = try link(both, session)
    for url in [old, new] { #expect(try both.get(url, ["Range": "bytes=0-9"]).status == 206) }
    both.process.send(SIGKILL)
    _ = both.process.wait()
    let last = try serve(["new.key"])
    #expect(try last.get(old, ["Range": "bytes=0-9"]).status == 403)
    #expect(try last.get(new, ["Range": "bytes=0-9"]).status == 206)
  }

  /// `purchase-ledger` works on the database of the running server.
  @Test func ledgerCommandBesideTheServer() throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop)
    let session = try shop.openSession()
    _ = try server.send(
      "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: [try evidence(shop, 4)])
    )
    let ledger = try Command(built: "purchase-ledger")
    let listed = try ledger.run(["account", "list", "--ledger", shop.ledger])
    #expect(listed.status == 0 && listed.stdout.contains(session.account.id), "\(listed)")
    let verified = try ledger.run(["verify", "--ledger", shop.ledger])
    #expect(verified.status == 0, "\(verified)")
    let again = try server.get(StoreRoute.library.path, token: session.token)
    #expect(again.text.contains("\"status\":\"ownedNotInstalled\""))
  }

  /// Links outlive a restart when their key does.
  @Test func linksOutliveARestart() throws {
    let shop = try ServerProcess.Shop()
    let first = try ServerProcess(shop)
    let session = try shop.openSession()
    _ = try first.send(
      "POST", StoreRoute.purchases.path, token: session.token, PurchaseSubmission(transactions: [try evidence(shop, 4)])
    )
    let answer = try first.send(
      "POST", StoreRoute.downloads.path, token: session.token, DownloadRequest(regionId: "alps", kind: .bundle))
    let ticket = try WireJSON.decode(DownloadTicket.self, from: answer.body)
    first.process.send(SIGKILL)
    _ = first.process.wait()
    let second = try ServerProcess(shop)
    #expect(try second.get(ticket.url).body == shop.catalog.bytes("alps-1.mbtiles"))
  }

  @Test(arguments: [
    (["--catalogue", "none"], 2, "none/catalogue.json"), (["--ledger", "none.sqlite"], 3, "none.sqlite"),
    (["--port", "70000"], 2, "port"), (["--public-url", "x"], 2, "public-url"),
    (["--public-url", "http://127.0.0.1:80909"], 2, "1 to 65535"), (["--public-url", "http://[]/"], 2, "host"),
    (["--public-url", "https://maps.example.org/?a"], 2, "query"),
    (["--nonsense"], 64, "nonsense"), (["--ledger", "catalogue"], 3, "catalogue: is a folder"),
  ])
  func unusableOptionsAreNamed(_ options: [String], _ status: Int, _ word: String) throws {
    let shop = try ServerProcess.Shop()
    let run = try Command(built: "mapstore").run(shop.arguments + options, in: shop.folder.path)
    #expect(run.status == Int32(status) && run.stderr.contains(word), "\(run)")
  }

  @Test(arguments: [
    ("HMAC_KEY_FILES", "none.key", "none.key"), ("PRODUCTS", "none.csv", "none.csv"),
    ("TRUSTED_PROXIES", "192.0.2.1, foo bar", "trustedProxies: \"foo bar\" is no address"),
  ])
  func unusableVariablesAreNamed(_ name: String, _ value: String, _ words: String) throws {
    let shop = try ServerProcess.Shop()
    let run = try Command(built: "mapstore").run(
      shop.arguments, in: shop.folder.path, environment: ["MAPSTORE_\(name)": value])
    #expect(run.status == 2 && run.stderr.contains(words), "\(run)")
  }

  @Test func withoutAShelfTheCommandThatMakesOneIsNamed() throws {
    let folder = try TemporaryFolder()
    let run = try Command(built: "mapstore").run(["serve"], in: folder.path)
    #expect(run.status == 2 && run.stderr.hasPrefix("mapstore: catalogue: is missing; "), "\(run)")
    #expect(run.stderr.hasSuffix(": tilecut build regions.json -o FOLDER\n"), "\(run)")
    #expect(folder.names.isEmpty)
  }

  /// A value that is neither true nor false is an error, not false.
  @Test func switchInTheEnvironmentMustBeTrueOrFalse() throws {
    let shop = try ServerProcess.Shop()
    let run = try Command(built: "mapstore").run(
      shop.arguments, in: shop.folder.path, environment: ["MAPSTORE_REFUSE_APPLE_V1": "maybe"])
    #expect(run.status == 2 && run.stderr.contains("refuse-apple-v1: \"maybe\" is neither"), "\(run)")
    let good = try Command(built: "mapstore").run(
      shop.arguments + ["--link-seconds", "0"], in: shop.folder.path,
      environment: ["MAPSTORE_REFUSE_APPLE_V1": "true"])
    #expect(!good.stderr.contains("refuse-apple-v1"), "\(good)")
  }

  @Test(arguments: [#"{"shelff": "x"}"#, #"{"port": "x"}"#, #"{"limits": {"x": 1}}"#, "[]", "{"])
  func unreadableConfiguration(_ text: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("store.json", text)
    let run = try Command(built: "mapstore").run(["serve", "--config", path])
    #expect(run.status == 2 && run.stderr.contains(path), "\(run)")
  }

  @Test func portInUse() throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop)
    let run = try Command(built: "mapstore").run(shop.arguments + ["--port", "\(server.port)"])
    #expect(run.status == 69 && run.stderr.contains("\(server.port)"), "\(run)")
  }
}
