import Logging
import MapStoreServer
import PurchaseLedger
import TileServe
import UnixSignals

/// The tiles of a catalogue and its shop in one process: OneProcess CATALOGUE LEDGER [TILE-PORT STORE-PORT]
@main struct OneProcess {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst().map { $0 }
    guard words.count >= 2 else { return print("usage: OneProcess CATALOGUE LEDGER [TILE-PORT STORE-PORT]") }
    var tileOptions = TileServerOptions()
    var storeOptions = StoreOptions(catalogFolder: words[0])
    (tileOptions.port, storeOptions.port) = words.count == 4 ? (Int(words[2]) ?? 0, Int(words[3]) ?? 0) : (0, 0)

    let logger = Logger(label: "one-process")
    let tilesets = try TilesetRegistry([words[0]])
    let tiles = try await TileServer.start(tilesets, tileOptions)
    // Whose purchases are accepted: the app's names at Apple and Google, and Apple's root certificate.
    let (ledger, identity) = (try openOrCreate(words[1]), StoreIdentity(packageName: "org.example.maps"))
    let store = try await MapStoreServer.start(
      storeOptions, ledger: ledger, identity: identity, clock: .system, logger: logger)
    logger.info("tiles: \(tiles.url)")
    logger.info("store: \(store.url)/catalogue")

    // Ctrl-C, or the service manager's signal. What is being answered is finished first.
    for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { break }
    try await store.shutdown()
    ledger.close()
    try await tiles.shutdown()
    await tilesets.close()
  }

  private static func openOrCreate(_ path: String) throws -> Ledger {
    do { return try Ledger.open(at: path, policy: nil, clock: .system) } catch let error as LedgerError
      where error.code == .noLedger
    { return try Ledger.create(at: path, policy: LedgerPolicy(), clock: .system) }
  }
}
