import MapStoreClient
import MapStoreWire
import MemoryPressure
import TileImage
import TileIndex
import TilePrefetch

// The examples of pages of docs/, which `SnippetTests` compares with them.

func regionsOnDevice(
  kept: SessionDetails?, keep: @escaping @Sendable (SessionDetails?) -> Void, appStore: any StoreQueue
) async throws {
  // device.md begins
  let manager = try OfflineRegionManager(folder: "maps")
  let client = StoreClient(address: "https://maps.example.com", session: StoreSession(kept, changed: keep))
  // Purchases, library, grants, interrupted downloads:
  let report = try await manager.sync(with: client, queue: appStore)
  print(report.regions.map(\.id))
  for try await progress in manager.installProgress(of: "colorado", from: client) {
    print(progress.phase, progress.fraction, progress.bytesPerSecond ?? 0, progress.secondsLeft ?? 0)
  }
  // device.md ends
}

func tilesAhead(
  _ viewport: Viewport, seconds: Double, read: (TileID) throws -> [UInt8], draw: (TileID, PixelBuffer) -> Void
) async throws {
  // prefetch.md begins
  let cache = TileCache<TileID, PixelBuffer>(byteCountMax: 64 << 20)
  let loader = MapLoader(cache: cache, planner: PrefetchPredictor(), source: .init(loadsMax: 2), tileCost: 256 << 10)

  // For every frame in which the map moved:
  loader.update(viewport, phase: .drag, at: seconds)
  // On each loading thread, while there is something:
  while let load = loader.next() {
    let pixels = try read(load.key).withUnsafeBytes { try ImageDecoder.decode($0) }
    loader.finish(load, .tile(pixels, byteCount: pixels.byteCount))
  }
  // To draw:
  for tile in viewport.tiles {
    if let pixels = loader.tile(tile) { draw(tile, pixels) }
  }

  // When memory gets short:
  let monitor = MemoryPressureMonitor()
  monitor.start()
  for await level in monitor.levels() { loader.adjust(to: level) }
  // prefetch.md ends
}
