import ArgumentParser
import CommandSupport
import MapStoreClient
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import StoreSimulators
import Support
import TileIndex

/// `mapstore client buy`
struct BuyCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "buy",
    abstract: "Buys regions from a fake app store, for tests and demonstrations.",
    discussion: """
      The fake app store signs with an ephemeral certificate authority (mapstore client store-key); only servers \
      configured with its root (--root-certificate) accept it. As in a real store, a purchase stays unfinished until \
      the map store has recorded it: an interrupted one is submitted by sync, or before the next purchase.
      """)
  @OptionGroup var flags: ClientFlags
  @Option(help: ArgumentHelp("The fake store's keys.", valueName: "file"), completion: .file())
  var storeKey: String
  @Option(
    help: "production or sandbox; most servers grant nothing for sandbox purchases.",
    completion: .list(["production", "sandbox"]))
  var environment = "production"
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func validate() throws {
    if !["production", "sandbox"].contains(environment) {
      throw ValidationError("--environment is production or sandbox")
    }
  }

  func run() async throws {
    let store = try FakeAppStore(keyFile: storeKey)
    let device = try flags.device()
    let account = try await device.client.account()
    let queue = FakeTransactionQueue(folder: device.folder)
    // First, because a region whose purchase the server has not recorded yet still looks as if it were for sale.
    let before = try await device.manager.submit(queue, to: device.client)
    let known = try await device.manager.refreshLibrary(from: device.client)
    for (index, id) in regions.enumerated() where !regions[..<index].contains(id) {
      guard let region = known.first(where: { $0.id == id }) else {
        throw MapStoreError(
          .unknown, id, "the store has no such region", remedy: "\(flags.command("library")) lists them")
      }
      switch region.status {
      case .forSale, .revoked: break
      // As in an app, owned regions are not offered for purchase.
      default:
        printError("mapstore: \(id): \(RegionTable.status(region)); nothing was bought")
        continue
      }
      let details = try await device.client.region(id)
      let signed = try store.sell(
        details.region.productId, to: account.appAccountToken, isSandbox: environment == "sandbox")
      try queue.add(OutstandingTransaction(id: signed.id, signed: signed.signed))
    }
    let now = try await device.manager.submit(queue, to: device.client)
    let purchases = before.filter { old in !now.contains { $0.id == old.id } } + now
    try await device.manager.refreshLibrary(from: device.client)
    if flags.json { printJSON(purchases.map(\.result)) } else { Self.show(purchases) }
    if purchases.contains(where: \.isOpen) { throw ExitCode(.leftUndone) }
  }

  /// Prints the outcomes of purchases.
  static func show(_ purchases: [SyncReport.Purchase]) {
    for purchase in purchases {
      let what = purchase.result.items.map { $0.regionId ?? $0.productId }.joined(separator: ", ")
      let why = (purchase.result.detail ?? purchase.result.reason).map { " (\($0))" } ?? ""
      printLine("\(what.isEmpty ? purchase.id : what): \(purchase.result.outcome.rawValue)\(why)")
    }
  }
}

/// `mapstore client sync`
struct SyncCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Submits unfinished purchases, fetches the library, and continues interrupted downloads.",
    discussion: """
      --update also updates installed regions and packs; --all also installs all other owned regions. Paused downloads \
      stay paused.

      Examples:
        mapstore client sync --all
        mapstore client sync --update --folder maps
      """)
  @OptionGroup(title: "Regions") var wanted: Wanted
  @OptionGroup(title: "Device and store") var flags: ClientFlags
  @OptionGroup(title: "Downloads") var download: DownloadFlags

  /// What is installed beside interrupted downloads.
  struct Wanted: ParsableArguments {
    @Flag(help: "Install and update all owned regions.")
    var all = false
    @Flag(help: "Update installed regions and packs.")
    var update = false
  }

  private struct Output: Encodable {
    let purchases: [PurchaseResult]
    let renamed: [SyncReport.Renamed]
    let regions: [OfflineRegion]
  }

  func run() async throws {
    let device = try flags.device(download.options)
    let queue = FakeTransactionQueue(folder: device.folder)
    let (installsAll, updates) = (wanted.all, wanted.update)
    let (report, results) = try await download.showing(on: device) { device, printer in
      let report = try await device.manager.sync(with: device.client, queue: queue) { printer.show($0) }
      var results = report.resumed.map(\.result)
      if updates, !installsAll {
        results += try await device.manager.update(from: device.client) { printer.show($0) }.map(\.result)
      }
      if installsAll {
        results += try await withThrowingTaskGroup(of: Result<InstalledFile, any Error>.self) { group in
          let missing = report.regions.filter { region in
            [.ownedNotInstalled, .updateAvailable].contains(region.status)
              && !region.downloads.contains(where: \.isPaused)
          }
          for region in missing {
            group.addTask {
              do {
                return .success(try await device.manager.install(region.id, from: device.client) { printer.show($0) })
              } catch is CancellationError {
                throw CancellationError()
              } catch {
                return .failure(error)
              }
            }
          }
          var results: [Result<InstalledFile, any Error>] = []
          for try await result in group { results.append(result) }
          return results
        }
      }
      return (report, results)
    }
    if let error = report.grantsError { printError("mapstore: \(error)") }
    let regions = try device.manager.regions()
    if flags.json {
      printJSON(Output(purchases: report.purchases.map(\.result), renamed: report.renamed, regions: regions))
    } else {
      for region in report.renamed { printLine("\(region.from): has the id \(region.to) now") }
      BuyCommand.show(report.purchases)
      RegionTable.lines(regions).forEach(printLine)
    }
    try GetCommand.failures(results)
    if let error = report.grantsError as? MapStoreError, [.damaged, .grant].contains(error.code) {
      throw ExitCode(ExitStatus(ofClient: error) ?? .leftUndone)
    }
    if report.grantsError != nil || report.purchases.contains(where: \.isOpen) {
      throw ExitCode(.leftUndone)
    }
  }
}

/// `mapstore client store-key`
struct StoreKeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store-key",
    abstract: "Creates an ephemeral certificate authority that signs purchases of a fake app store.",
    discussion:
      """
      Writes the signing keys to FILE and the root certificate to FILE.root.der, for mapstore serve \
      --root-certificate. Never configure it on a real map store.
      """
  )
  @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
  var second: String?
  @Option(name: [.short, .long], help: "The file to write, as in the other commands.", completion: .file())
  var output: String?
  @Option(help: "The app whose purchases are made up, by its identifier at the app store, such as org.example.maps.")
  var bundleId: String

  func validate() throws {
    guard (second == nil) != (output == nil) else {
      throw ValidationError("name one file to write: mapstore client store-key FILE --bundle-id APP")
    }
    if (second ?? output) == "-" { throw ValidationError("keys are not written to standard output; name a file") }
  }

  func run() throws {
    let file = second ?? output ?? ""
    try FakeAppStore.make(keyFile: file, bundleID: bundleId)
    printLine("wrote \(file) and \(file).root.der")
  }
}

/// `mapstore client refund`
struct RefundCommand: DeviceCommand {
  static let configuration = CommandConfiguration(
    commandName: "refund",
    abstract: "Refunds regions in the fake app store, for tests and demonstrations.",
    discussion: """
      Like a real store, the fake one sends a signed notification to the map store (/v1/notifications/apple); the \
      buyer's device is not involved. FILE.sales.jsonl lists all sales and refunds, in the form that purchase-ledger \
      reconcile --against reads.
      """)
  @OptionGroup var flags: ClientFlags
  @Option(help: ArgumentHelp("The fake store's keys.", valueName: "file"), completion: .file())
  var storeKey: String
  @Argument(help: ArgumentHelp("The regions.", valueName: "region"))
  var regions: [String]

  func run() async throws {
    let store = try FakeAppStore(keyFile: storeKey)
    let device = try flags.device()
    let account = try await device.client.account()
    for id in regions {
      let product = try await device.client.region(id).region.productId
      guard let notification = try store.refund(product, of: account.appAccountToken) else {
        throw MapStoreError(
          .notOwned, id, "the fake store has not sold it to this account",
          remedy: "\(flags.command("library")) shows what is owned")
      }
      try await device.client.notify(apple: notification)
      if !flags.json { printLine("\(id): refunded, and the map store was notified") }
    }
    try await device.manager.refreshLibrary(from: device.client)
    if flags.json { printJSON(try device.manager.regions()) }
  }
}

/// The fake store's queue of purchases that were paid but not finished, in the device's folder: `.mapstore-queue.json`.
final class FakeTransactionQueue: StoreQueue {
  private let path: String

  init(folder: String) { path = "\(folder)/.mapstore-queue.json" }

  func outstanding() async throws -> [OutstandingTransaction] { try read() }

  func add(_ transaction: OutstandingTransaction) throws {
    try write(try read().filter { $0.id != transaction.id } + [transaction])
  }

  func finish(_ id: String) async throws { try write(try read().filter { $0.id != id }) }

  private func read() throws -> [OutstandingTransaction] {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch let error as JSONFile.Unreadable where error.isMissing {
      return []
    }
    do {
      return try WireJSON.decode([OutstandingTransaction].self, from: bytes)
    } catch {
      throw FakeStoreFileError(
        .damaged, path: path, "\(error)", remedy: "remove it: what was paid can be restored")
    }
  }

  private func write(_ transactions: [OutstandingTransaction]) throws {
    try OutputFile.write(try WireJSON.encode(transactions), to: path, replacing: true)
  }
}
