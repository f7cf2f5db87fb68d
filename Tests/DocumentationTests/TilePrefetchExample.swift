// snippet.begin
import TileIndex
import TilePrefetch

/// Loads what a screen shows from a bundle, then what the next gesture will probably show.
///
/// - Returns: the screen's tiles.
func loadScreen(_ viewport: Viewport, of path: String) throws -> [TileID: [UInt8]] {
  let bundle = try BundleFile.open(path)
  let zooms = try bundle.zooms()
  let planner = PrefetchPredictor(options: .init(zooms: (zooms.first ?? 0)...(zooms.last ?? 0)))
  let cache = TileCache<TileID, [UInt8]>(byteCountMax: 64 << 20)
  let loader = MapLoader(cache: cache, planner: planner, source: .init(loadsMax: 2), tileCost: 256 << 10)

  // For every frame in which the map moved:
  loader.update(viewport, phase: .rest, at: 0)

  // On each loading thread, which has a bundle of its own, while there is something to load:
  while let load = loader.next() {
    do {
      if let bytes = try bundle.tile(load.key) {
        loader.finish(load, .tile(bytes, byteCount: bytes.count))
      } else {
        loader.finish(load, .absent)
      }
    } catch {
      loader.finish(load, .failed(error))
    }
  }

  // To draw:
  var drawn: [TileID: [UInt8]] = [:]
  for tile in viewport.tiles { drawn[tile] = loader.tile(tile) }
  return drawn
}
// snippet.end
