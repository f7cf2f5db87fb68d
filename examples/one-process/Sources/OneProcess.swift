import Foundation
import Logging
import MapStoreServer
import PurchaseLedger
import TileServe
import UnixSignals

/// The tiles of a catalogue and its shop in one process: OneProcess CATALOGUE LEDGER [TILE-PORT STORE-PORT]
@main struct OneProcess {
  static func main() async {
    let words = CommandLine.arguments.dropFirst().map { $0 }
    guard words.count >= 2 else { return print("usage: OneProcess CATALOGUE LEDGER [TILE-PORT STORE-PORT]") }
    var (tileOptions, storeOptions) = (TileServerOptions(), StoreOptions(catalogFolder: words[0]))
    (tileOptions.port, storeOptions.port) = words.count == 4 ? (Int(words[2]) ?? 0, Int(words[3]) ?? 0) : (0, 0)
    let (logger, isNew) = (Logger(label: "one-process"), !FileManager.default.fileExists(atPath: words[1]))
    do {
      let tilesets = try TilesetRegistry([words[0]])
      let tiles = try await TileServer.start(tilesets, tileOptions)
      if isNew { try Ledger.create(at: words[1], policy: LedgerPolicy(), clock: .system).close() }
      let ledger = try Ledger.open(at: words[1], policy: nil, clock: .system)
      // Whose purchases are accepted: the app's names at Apple and Google, and Apple's root certificate.
      let identity = StoreIdentity(packageName: "org.example.maps", googlePublicKey: nil, environments: .all)
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
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
