import TileImage
import TileIndex
import TilePrefetch

/// A tile in the cache of a replay.
enum ReplayTile: Sendable {
  case virtual
  case pixels(PixelBuffer)
  case palette(PalettePixels)
}

/// Where a replay's tiles come from.
protocol ReplayTiles {
  /// Loads a tile, and says how long that took or takes, in seconds.
  func load(_ tile: TileID) -> (outcome: LoadOutcome<ReplayTile>, seconds: Double)
  /// True when there is such a tile.
  func has(_ tile: TileID) -> Bool
}

/// Tiles that only cost memory and time.
struct VirtualTiles: ReplayTiles {
  let cost: Int
  let seconds: Double

  func load(_ tile: TileID) -> (outcome: LoadOutcome<ReplayTile>, seconds: Double) {
    (.tile(.virtual, byteCount: cost), seconds)
  }

  func has(_ tile: TileID) -> Bool { true }
}
