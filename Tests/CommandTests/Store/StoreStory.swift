import Foundation
import MapStoreClient
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import StoreSimulators
import Support
import TestSupport
import TileIndex

/// A map store and its customers as processes over loopback: `mapstore serve`, `mapstore client`, `purchase-ledger`,
/// and between client and server a proxy that cuts connections.
final class StoreStory {
  static let bundleID = "org.example.maps"

  let shop: SampleShop
  let folder: TemporaryFolder
  let authority: EphemeralCA
  let network: CuttingProxy
  var random: SeededGenerator
  private var server: ChildProcess?
  private var port = 0
  private var nextID = 1_000_000_000_000
  /// The app store's sales: the last state of every transaction.
  private(set) var sold: [StoreTransaction] = []
  private let start = WallClock.now()
  private(set) var clientKills = 0
  private(set) var serverKills = 0
  /// The number of kills that left a partial file.
  private(set) var killsWithinFiles = 0

  /// - Parameter hasFakeStore: the server also trusts the fake store of `mapstore client buy`.
  init(seed: UInt64, regions: Int, hasFakeStore: Bool = false) throws {
    random = SeededGenerator(seed: seed)
    (shop, folder, authority) = (try SampleShop(), try TemporaryFolder(), try EphemeralCA())
    network = try CuttingProxy(seed: seed)
    for number in 0..<regions { try shop.publish("r\(number)") }
    try shop.writeCatalogue()
    try folder.write("root.der", bytes: authority.rootCertificate)
    try folder.write("link.key", bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
    try folder.write("grant.key", bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })
    if hasFakeStore {
      let made = try Command(built: "mapstore").run([
        "client", "store-key", fakeStoreKeys, "--bundle-id", Self.bundleID,
      ])
      guard made.status == 0 else { throw Unexpected(description: "\(made)") }
    }
    try folder.write(
      "store.json",
      """
      {"catalogue": "\(shop.folder.path)", "ledger": "ledger.sqlite", "rootCertificates": \
      ["root.der"\(hasFakeStore ? ", \"fake.key.root.der\"" : "")],
       "bundleId": "\(Self.bundleID)", "hmacKeyFiles": ["link.key"], "grantKeyFiles": ["grant.key"],
       "limits": {"passwordsByAddressPerMinute": 100000, "passwordsByLoginPerMinute": 100000,
       "requestsByAddressPerMinute": 1000000, "requestsByAccountPerMinute": 1000000, "evidencesByAccountPerMinute": \
       1000000,
       "transfersByAccount": 4}}
      """)
    let made = try Command(built: "purchase-ledger").run(["init", "--ledger", folder.file("ledger.sqlite")])
    guard made.status == 0 else { throw Unexpected(description: "\(made)") }
  }

  var fakeStoreKeys: String { folder.file("fake.key") }

  /// The fake store's sales, a line each.
  func fakeStoreSales() throws -> [Substring] {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: fakeStoreSalesPath)), as: UTF8.self)
      .split(separator: "\n")
  }

  var fakeStoreSalesPath: String { fakeStoreKeys + ".sales.jsonl" }

  struct Unexpected: Error, CustomStringConvertible { let description: String }

  // MARK: Processes

  func ledger(_ arguments: String...) throws -> CommandRun {
    // Commands that verify nothing have no options about the app.
    let verifies = ["import", "inspect", "pull", "reconcile", "verify"].contains(arguments[0])
    let app = ["--root-certificate", folder.file("root.der"), "--bundle-id", Self.bundleID]
    return try Command(built: "purchase-ledger").run(
      arguments + ["--ledger", folder.file("ledger.sqlite")] + (verifies ? app : []), timeout: 120)
  }

  /// Starts the server on the port that it had before.
  func open() throws {
    let arguments = ["serve", "--config", folder.file("store.json"), "--port", "\(port)"]
    let process = try Command(built: "mapstore").start(arguments)
    let isUp = process.wait(timeout: 60) { process.stdout.contains("/catalogue") }
    guard isUp, let line = process.stdout.split(separator: "\n").first(where: { $0.contains("/catalogue") }),
      let number = line.split(separator: "/").compactMap({ Int($0.split(separator: ":").last ?? "") }).first
    else { throw Unexpected(description: "no server: \(process.stdout) \(process.stderr)") }
    port = number
    server = process
    network.forward(to: port)
  }

  /// Kills the server and starts it again.
  func crashServer() throws {
    server?.send(SIGKILL)
    _ = server?.wait(timeout: 30) as CommandRun?
    serverKills += 1
    try open()
  }

  func close() throws -> CommandRun? {
    server?.send(SIGTERM)
    return server?.wait(timeout: 60)
  }

  /// The address for clients.
  var address: String { "http://127.0.0.1:\(network.port)" }

  private func arguments(_ device: String, _ words: [String]) -> [String] {
    ["client", words[0], "--folder", folder.file(device)] + words.dropFirst()
  }

  /// Starts a client's command.
  func start(_ device: String, _ words: String...) throws -> ChildProcess {
    try Command(built: "mapstore").start(arguments(device, words))
  }

  func client(_ device: String, _ words: String...) throws -> CommandRun {
    try Command(built: "mapstore").run(
      arguments(device, words), environment: ["MAPSTORE_PASSWORD": "a long password"], timeout: 120)
  }

  func signUp(_ device: String, _ login: String) throws {
    let run = try client(device, "register", login, "--server", address)
    guard run.status == 0 else { throw Unexpected(description: "\(run)") }
  }

  /// Registers an account and buys from the app store; the map store does not know of it yet.
  func signUp(_ device: String, _ login: String, buying products: [String]) throws {
    try signUp(device, login)
    let token = try appAccountToken(device)
    try setQueue(device, try products.map { try sell($0, to: token) })
  }

  func signIn(_ device: String, _ login: String) throws {
    let run = try client(device, "login", login, "--server", address)
    guard run.status == 0 else { throw Unexpected(description: "\(run)") }
  }

  enum Victim { case client, server }

  private static let syncWords = ["sync", "--all", "--reserve", "1", "--progress", "none"]

  /// Starts a sync over a network that cuts connections at any byte, and kills client or server during a download.
  func disturbedSync(_ device: String, killing victim: Victim) throws {
    network.cut(within: 4_000...250_000)
    defer { network.cut(within: nil) }
    let before = partBytes(device)
    let process = try Command(built: "mapstore").start(
      arguments(device, Self.syncWords + ["--piece", "\(Self.pieceBytes)", "--rate", "300000"]))
    // Unless everything is installed.
    _ = process.wait(timeout: 60) {
      partBytes(device).contains { $0.value > before[$0.key] ?? 0 }
    }
    usleep(UInt32.random(in: 0...200_000, using: &random))
    switch victim {
    case .client:
      process.send(SIGKILL)
      let run: CommandRun = process.wait(timeout: 60)
      if run.ending == .signal(SIGKILL) { clientKills += 1 }
      if partBytes(device).values.contains(where: { $0 > 0 }) { killsWithinFiles += 1 }
    case .server:
      try crashServer()
      _ = process.wait(timeout: 120) as CommandRun
    }
  }

  static let pieceBytes = 16_384

  /// The sizes of partial files in a device's folder.
  func partBytes(_ device: String) -> [String: Int] {
    let work = folder.file("\(device)/.mapstore")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: work)) ?? []
    let parts = names.filter { $0.hasSuffix(".part") }.map { name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(work)/\(name)")
      return (name, attributes?[.size] as? Int ?? 0)
    }
    return Dictionary(uniqueKeysWithValues: parts)
  }

  /// Bytes of files that the server has sent since its start.
  func sentBytes() throws -> Int {
    let text = try HTTPConnection(port: port).request("/metrics").text
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("mapstore_file_bytes_total ") }),
      let bytes = line.split(separator: " ").last.flatMap({ Int($0) })
    else { throw Unexpected(description: text) }
    return bytes
  }

  /// Syncs several devices at the same time.
  func sync(together devices: [String]) throws -> [CommandRun] {
    try devices.map { try Command(built: "mapstore").start(arguments($0, Self.syncWords)) }.map {
      $0.wait(timeout: 120)
    }
  }

  func sync(_ device: String) throws -> CommandRun {
    try Command(built: "mapstore").run(arguments(device, Self.syncWords), timeout: 120)
  }

  // MARK: The app store

  func appAccountToken(_ device: String) throws -> String {
    let data = try Data(contentsOf: URL(fileURLWithPath: folder.file("\(device)/.mapstore-client.json")))
    let memory = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    let account = (memory?["session"] as? [String: Any])?["account"] as? [String: Any]
    guard let token = account?["appAccountToken"] as? String else {
      throw Unexpected(description: "no account in \(device)")
    }
    return token
  }

  /// Sells a product; or restores an earlier purchase under a new transaction.
  func sell(_ product: String, to token: String, restoring original: String? = nil) throws -> OutstandingTransaction {
    nextID += 1
    let time = start - 1_000_000 + Int64(sold.count)
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "\(nextID)",
      originalTransactionID: original ?? "\(nextID)",
      productID: product, productType: .nonConsumable, purchaseDate: time, ownership: .purchased,
      appAccountToken: AccountToken(token), reason: "PURCHASE", signedDate: time + 1, trust: .signed,
      statement: .purchased)
    sold.append(fact)
    return OutstandingTransaction(
      id: fact.transactionID,
      signed: String(decoding: try authority.transaction(fact, bundleID: Self.bundleID), as: UTF8.self))
  }

  /// The app store's list of transactions that a device's app has not finished.
  func setQueue(_ device: String, _ transactions: [OutstandingTransaction]) throws {
    try OutputFile.write(
      try WireJSON.encode(transactions), to: folder.file("\(device)/.mapstore-queue.json"), replacing: true)
  }

  func queueCount(_ device: String) throws -> Int {
    let bytes = try JSONFile.bytes(folder.file("\(device)/.mapstore-queue.json"))
    return try WireJSON.decode([OutstandingTransaction].self, from: bytes).count
  }

  /// The app store refunds every transaction of a grant, and sends the notification twice.
  func refund(original id: String) throws {
    for index in sold.indices where sold[index].originalTransactionID == id {
      sold[index].statement = .revoked
      sold[index].revocation = Revocation(date: start - 500, reason: "1")
      sold[index].signedDate = start - 400
      let notice = try authority.notification(
        type: "REFUND", uuid: UUID().uuidString.lowercased(), signedDate: start - 300, environment: .production,
        bundleID: Self.bundleID, transaction: try authority.transaction(sold[index], bundleID: Self.bundleID))
      let body = "{\"signedPayload\":\"\(String(decoding: notice, as: UTF8.self))\"}"
      for _ in 0..<2 {
        let connection = try HTTPConnection(port: port)
        try connection.send(
          HTTPConnection.head(
            "/v1/notifications/apple", method: "POST",
            ["Content-Type": "application/json", "Content-Length": "\(body.utf8.count)"]) + body)
        let answer = try connection.response(to: "POST")
        guard answer.status == 200 else { throw Unexpected(description: "\(answer)") }
      }
    }
  }

  /// The app store's records as an export.
  func writeStoresBook() throws -> String {
    let lines = try sold.map { try authority.transaction($0, bundleID: Self.bundleID) }
    return try folder.write("store.jsonl", bytes: Array(lines.joined(separator: [0x0a])))
  }

  // MARK: Installed regions

  /// The regions whose bundle in a device's folder equals the catalogue's byte for byte; nil when there is another
  /// file.
  func installed(_ device: String) throws -> Set<String>? {
    var regions: Set<String> = []
    for region in shop.catalogue.regions {
      let path = folder.file("\(device)/\(region.id).mbtiles")
      guard FileManager.default.fileExists(atPath: path) else { continue }
      guard try FileHash.sha256(ofFile: path) == region.sha256 else { return nil }
      regions.insert(region.id)
    }
    return regions
  }
}
