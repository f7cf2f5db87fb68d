import MapStoreClient
import MemoryPressure
import TileImage
import TileIndex
import TilePrefetch
import TileServe

// The examples in comments of declarations: `SnippetTests` looks for them here.

func tieredTiles(_ read: @escaping @Sendable (TileID) throws -> [UInt8]?) -> TieredTiles<TilePicture> {
  let tiles = TieredTiles(decodedBytes: 48 << 20, encodedBytes: 8 << 20) { bytes in
    let picture = TilePicture(try bytes.withUnsafeBytes { try ImageDecoder.decode($0) })
    return (picture, byteCount: picture.byteCount)
  } source: { tile in
    try read(tile)
  }
  return tiles
}

func adjustToPressure(_ loader: MapLoader<TilePicture>) async {
  let monitor = MemoryPressureMonitor()
  monitor.start()
  for await level in monitor.levels() { loader.adjust(to: level) }
}

func readWithoutHTTP() async throws -> [UInt8]? {
  let registry = try TilesetRegistry(["/maps"])
  let tile = try registry["colorado"]?.storedTile(TileID(zoom: 9, column: 106, row: 194))
  await registry.close()
  return tile
}

func serveFolder() async throws {
  let registry = try TilesetRegistry(["/maps"])
  try await withTileServer(registry) { server in
    print(try await server.url(for: "usa"))  // http://127.0.0.1:43210/usa/{z}/{x}/{y}.png
    try await server.wait()
  }
  await registry.close()
}

func showRegions(
  _ manager: OfflineRegionManager, show: ([OfflineRegion], [RegionPart: InstallProgress]) -> Void
) async {
  for await state in manager.states() { show(state.regions, state.installs) }
}

func showProgress(_ manager: OfflineRegionManager, from client: StoreClient) async throws {
  for try await progress in manager.installProgress(of: "colorado", from: client) {
    print(progress.bytesDone, progress.bytesPerSecond ?? 0, progress.secondsLeft ?? 0)
  }
}
