import OfflineMap
import TileImage

// The example of docs/explanation/prefetch.md, which `SnippetTests` compares with it.

func tilesAhead(
  _ viewport: Viewport, seconds: Double, read: (TileID) throws -> [UInt8], draw: (TileID, PixelBuffer) -> Void
) async throws {
  // page.begin
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
  // page.end
}
