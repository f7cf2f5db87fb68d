import CSQLite
import Foundation
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreServer

/// How the service reacts to changes of its ledger, catalogue and disk, and to its shutdown.
@Suite(.ownThread) struct OperationTests {
  private static let products = TestCatalog.regions.map { "\(TestCatalog.product($0)),ready" }.joined(separator: "\n")

  private func isReady(_ server: ServerProcess) -> Bool { (try? server.get(StoreRoute.ready.path).status) == 200 }

  /// The ledger is removed, or replaced by a copy, or its log is removed: no purchase is acknowledged from then on.
  @Test(arguments: ["remove", "replace", "remove the log"])
  func removedOrReplacedLedgerAcknowledgesNoPurchase(_ what: String) throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    let server = try ServerProcess(shop)
    #expect(try server.buy([shop.evidence("alps", id: 100)], token: session.token).status == 200)
    #expect(isReady(server))
    let files = FileManager.default
    switch what {
    case "remove": try files.removeItem(atPath: shop.ledger)
    case "replace":
      try files.copyItem(atPath: shop.ledger, toPath: shop.ledger + ".copy")
      #expect(rename(shop.ledger + ".copy", shop.ledger) == 0)
    default: try files.removeItem(atPath: shop.ledger + "-wal")
    }
    // Immediately, before the service can notice it.
    for id in 0..<20 {
      let answer = try server.buy([shop.evidence("rhine", id: id)], token: session.token)
      #expect(try answer.status == 503 && answer.problem().type == .unavailable, "\(id): \(answer)")
    }
    #expect(eventually(seconds: 30) { !isReady(server) })
    #expect(try server.get(StoreRoute.library.path, token: session.token).status == 503)
    // Routes that need no ledger still answer.
    #expect(try server.get(StoreRoute.catalogue.path).status == 200)
    #expect(eventually(seconds: 30) { server.process.stderr.contains("removed or replaced") })
    Thread.sleep(forTimeInterval: 1.2)
    #expect(server.process.stderr.split(separator: "\n").count { $0.contains("removed or replaced") } == 1)
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
  }

  /// Another process holds the ledger's write lock: what an account owns is answered, and `/ready` says that nothing
  /// can be recorded. The notes of what was given out follow.
  @Test func readsGoOnWhileAnotherProcessLocksTheLedger() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    let server = try ServerProcess(shop)
    #expect(try server.buy([shop.evidence("alps", id: 100)], token: session.token).status == 200)
    let other = try SQLiteConnection(
      uri: SQLiteConnection.uri(path: shop.ledger, parameters: []), flags: SQLITE_OPEN_READWRITE)
    try other.execute("BEGIN IMMEDIATE")
    #expect(try server.get(StoreRoute.grants.path, token: session.token).status == 200)
    let wanted = DownloadRequest(regionId: "alps", kind: .bundle)
    #expect(try server.send("POST", StoreRoute.downloads.path, token: session.token, wanted).status == 201)
    #expect(try server.get(StoreRoute.library.path, token: session.token).status == 200)
    #expect(eventually(seconds: 30) { !isReady(server) })
    #expect(eventually(seconds: 30) { server.process.stderr.contains("another process holds its write lock") })
    try other.execute("ROLLBACK")
    #expect(eventually(seconds: 60) { isReady(server) })
    for kind in ["offline-grant", "\"download\""] {
      #expect(eventually(seconds: 30) { (try? server.events(kind)) == 1 }, "\(kind)")
    }
  }

  /// The same file is moved back to its name: the service uses it again.
  @Test func ledgerThatIsMovedBackIsUsedAgain() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    let server = try ServerProcess(shop)
    #expect(rename(shop.ledger, shop.ledger + ".away") == 0)
    #expect(try server.buy([shop.evidence("alps")], token: session.token).status == 503)
    #expect(eventually(seconds: 30) { !isReady(server) })
    #expect(rename(shop.ledger + ".away", shop.ledger) == 0)
    #expect(eventually(seconds: 30) { isReady(server) })
    #expect(try server.buy([shop.evidence("alps")], token: session.token).status == 200)
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
    let verified = try Command(built: "purchase-ledger").run(["verify", "--ledger", shop.ledger])
    #expect(verified.status == 0, "\(verified)")
  }

  /// After a typing error in the list of products the last state stays in service; log and metrics report the error.
  @Test func brokenListOfProductsKeepsTheLastState() throws {
    let shop = try ServerProcess.Shop()
    let list = try shop.folder.write("products.csv", Self.products)
    let server = try ServerProcess(shop, environment: ["MAPSTORE_PRODUCTS": list])
    try shop.folder.write("products.csv", Self.products + "\nx,redy")
    #expect(eventually(seconds: 30) { server.process.stderr.contains("\"redy\" is no state") })
    #expect(isReady(server))
    #expect(try server.get(StoreRoute.metrics.path).text.contains("mapstore_catalogue_stale 1\n"))
    #expect(try server.get("/v1/regions/alps").status == 200)
    try shop.folder.write("products.csv", Self.products)
    let isMended = try eventually(seconds: 30) {
      try server.get(StoreRoute.metrics.path).text.contains("mapstore_catalogue_stale 0\n")
    }
    #expect(isMended)
  }

  /// Bundles that are missing, of another size or of another hash are not sold, and are named; a correct one is sold
  /// again.
  @Test func damagedBundlesAreNamedAndNotSold() throws {
    let shop = try ServerProcess.Shop()
    func path(_ region: String) -> String { "\(shop.catalog.path)/\(region)-1.mbtiles" }
    let whole = try shop.catalog.bytes("alps-1.mbtiles")
    try FileManager.default.removeItem(atPath: path("alps"))
    let short = try #require(FileHandle(forWritingAtPath: path("rockies")))
    try short.truncate(atOffset: 1000)
    let other = try #require(FileHandle(forWritingAtPath: path("rhine")))
    try other.seek(toOffset: 5000)
    try other.write(contentsOf: Data("another".utf8))
    let server = try ServerProcess(shop)
    // A small catalogue is hashed before the service listens.
    #expect(server.process.stdout.contains("selling 1 of 4 regions"), "\(server.process.stdout)")
    #expect(server.process.stdout.contains("rhine-1.mbtiles has another SHA-256"))
    #expect(server.process.stdout.contains("alps-1.mbtiles is missing; alps is not sold"))
    #expect(server.process.stdout.contains("rockies-1.mbtiles has 1000 bytes"))
    func status(_ region: String) throws -> Int { try server.get("/v1/regions/\(region)").status }
    #expect(try ["alps", "rockies", "rhine", "retired"].map(status) == [404, 404, 404, 200])
    let log = server.process.stderr
    #expect(log.contains("rhine-1.mbtiles has another SHA-256") && log.contains("alps-1.mbtiles is missing"), "\(log)")
    // Its owner does not get other bytes than the bundle's.
    let session = try shop.openSession()
    #expect(try server.buy([shop.evidence("rhine")], token: session.token).status == 200)
    #expect(try server.get(server.ticket("rhine", token: session.token).url).status == 503)
    try Data(whole).write(to: URL(fileURLWithPath: path("alps")))
    let isBack = try eventually(seconds: 30) { try status("alps") == 200 }
    #expect(isBack)
  }

  /// While the catalogue cannot be read, bundles are still checked before they are sold. Without any bundle the service
  /// is not ready.
  @Test func bundlesMissingFromAStaleCatalogAreNotSold() throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop)
    try Data("{".utf8).write(to: URL(fileURLWithPath: "\(shop.catalog.path)/catalogue.json"))
    let isStale = try eventually(seconds: 30) {
      try server.get(StoreRoute.metrics.path).text.contains("mapstore_catalogue_stale 1\n")
    }
    #expect(isStale)
    func move(_ region: String, _ from: String, _ to: String) {
      let path = "\(shop.catalog.path)/\(region)-1.mbtiles"
      #expect(rename(path + from, path + to) == 0)
    }
    func becomes(_ target: String, _ status: Int) throws -> Bool {
      try eventually(seconds: 30) { try server.get(target).status == status }
    }
    move("alps", "", ".away")
    let isTakenOff = try becomes("/v1/regions/alps", 404)
    #expect(isTakenOff && isReady(server))
    for region in TestCatalog.regions.dropFirst() { move(region, "", ".away") }
    let isNotReady = try becomes(StoreRoute.ready.path, 503)
    move("alps", ".away", "")
    let isSoldAgain = try becomes("/v1/regions/alps", 200)
    #expect(isNotReady && isSoldAgain && isReady(server))
  }

  /// A new process knows the hashes of unchanged files, and their faults; changed files are hashed again.
  @Test func hashesAreRemembered() throws {
    let folder = try TemporaryFolder()
    let catalog = try TestCatalog(folder)
    let regions = try catalog.catalogue().regions
    func write(_ bytes: [UInt8], _ file: String) throws {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(catalog.path)/\(file)"))
    }
    let whole = try catalog.bytes("rhine-1.mbtiles")
    try write([UInt8](repeating: 0, count: whole.count), "rhine-1.mbtiles")
    /// A new process: its state at the start, and after all checks.
    func start() throws -> (atOnce: [String: CatalogFileVerifier.Fault], waits: Bool, known: Int) {
      let memory = try LinkUses(path: folder.file("ledger.shop"))
      let files = CatalogFileVerifier(folder: catalog.path, store: memory)
      files.set(regions)
      let (faults, waits) = (files.faults, !files.isDone)
      #expect(eventually(seconds: 60) { files.isDone })
      return (faults, waits, memory.hashes(in: catalog.path).count)
    }
    let first = try start()
    #expect(first.atOnce.isEmpty || first.atOnce == ["rhine-1.mbtiles": .otherHash])
    #expect(first.known == 8)
    let second = try start()
    #expect(second.atOnce == ["rhine-1.mbtiles": .otherHash] && !second.waits && second.known == 8)
    try write(whole, "rhine-1.mbtiles")
    _ = try start()
    let last = try start()
    #expect(last.atOnce.isEmpty && !last.waits)
    #expect(try LinkUses(path: folder.file("ledger.shop")).hashes(in: folder.path).isEmpty)
  }

  /// Two services cannot share a port; the error says so.
  @Test func aPortThatIsTaken() throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop)
    let run = try Command(built: "mapstore").run(shop.arguments + ["--port", "\(server.port)"])
    #expect(run.status == 69 && run.stderr.contains("127.0.0.1:\(server.port)"), "\(run)")
    #expect(run.stderr.contains("address already in use") && !run.stderr.contains("errno"), "\(run)")
  }

  /// SIGTERM closes idle connections immediately, and those with a request in progress after the drain timeout.
  @Test func theEndDoesNotWaitForClients() throws {
    let shop = try ServerProcess.Shop()
    let server = try ServerProcess(shop, environment: ["MAPSTORE_DRAIN_TIMEOUT": "2"])
    let idle = try HTTPConnection(port: server.port)
    #expect(try idle.request(StoreRoute.health.path).status == 200)
    let busy = try HTTPConnection(port: server.port)
    try busy.send("POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    let silent = try HTTPConnection(port: server.port)
    try silent.send("GET / HT")
    Thread.sleep(forTimeInterval: 0.3)
    let start = ContinuousClock.now
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 60).status == 0)
    // Far less than the time that a request may take to arrive.
    #expect(ContinuousClock.now - start < .seconds(20))
    withExtendedLifetime((idle, busy, silent)) {}
  }

  /// A link serves its file a few times, counted over ranges, restarts and processes. Another link resumes the
  /// download.
  @Test func aLinkIsUsedUpByRanges() throws {
    let shop = try ServerProcess.Shop()
    let session = try shop.openSession()
    var server = try ServerProcess(shop)
    #expect(try server.buy([shop.evidence("alps")], token: session.token).status == 200)
    let ticket = try server.ticket("alps", token: session.token)
    let range = ["Range": "bytes=0-\(ticket.bytes - 2)"]
    #expect(try server.get(ticket.url, range).status == 206)
    server.process.send(SIGKILL)
    _ = server.process.wait()
    server = try ServerProcess(shop)
    let second = try ServerProcess(shop)
    #expect(try second.get(ticket.url, range).status == 206)
    #expect(try server.get(ticket.url, range).status == 206)
    for process in [server, second] {
      let refused = try process.get(ticket.url, range)
      #expect(try refused.status == 403 && refused.problem().type == .linkRefused, "\(refused.status)")
    }
    let next = try server.ticket("alps", token: session.token)
    let rest = try second.get(next.url, ["Range": "bytes=\(ticket.bytes - 1)-"])
    let last = try shop.catalog.bytes("alps-1.mbtiles").suffix(1)
    #expect(rest.status == 206 && rest.body == Array(last))
    // The last byte: together the ranges have sent the whole file.
    let events = try eventually(seconds: 30) { try server.events("\"sent\"") == 1 }
    let isUsed = try eventually(seconds: 30) { try server.get(next.url, range).status == 403 }
    #expect(events && isUsed)
  }

  /// With a full disk the service is not ready, also before a purchase has failed.
  @Test(.enabled(if: FullDisk.isAvailable, "no small disk can be mounted here (unshare, mount), or there is no curl"))
  func aFullDiskIsNotReady() throws {
    let shop = try ServerProcess.Shop()
    let disk = try TemporaryFolder()
    let run = try FullDisk.run(
      in: disk.path,
      #"""
      cp -a "$1"/. . && cd "$0" || exit 1
      MAPSTORE_LOG_LEVEL=error "$2" serve --config store.json >out & server=$!
      n=0; until grep -q '^catalogue: .*/catalogue$' out || [ $n -gt 300 ]; do sleep 0.1; n=$((n + 1)); done
      url=$(sed -n 's/^catalogue: \(.*\)catalogue$/\1/p' out)
      wait_for() {
        n=0; status=
        while [ "$status" != "$1" ] && [ $n -lt 300 ]; do
          sleep 0.1; n=$((n + 1)); status=$(curl -s -o /dev/null -w '%{http_code}' "${url}ready")
        done
        echo "$status"
      }
      wait_for 200; dd if=/dev/zero of=fill bs=4096 2>/dev/null; wait_for 503; rm fill; wait_for 200
      kill $server; wait $server
      """#, [shop.folder.path, Command(built: "mapstore").path])
    #expect(run.stdout == "200\n503\n200\n" && run.stderr.contains("the disk is full"), "\(run)")
  }
}

/// A disk of some megabytes.
private enum FullDisk {
  static func run(in folder: String, _ line: String, _ arguments: [String] = []) throws -> CommandRun {
    let rights = geteuid() == 0 ? ["-m"] : ["-r", "-m"]
    let mount = "mount -t tmpfs -o size=24m none \"$0\" && cd \"$0\" && { \(line)\n }"
    return try #require(Command(installed: "unshare")).run(rights + ["/bin/sh", "-c", mount, folder] + arguments)
  }

  static let isAvailable: Bool = {
    guard Command(installed: "unshare") != nil, Command(installed: "curl") != nil, let folder = try? TemporaryFolder()
    else { return false }
    return (try? run(in: folder.path, "true"))?.status == 0
  }()
}
