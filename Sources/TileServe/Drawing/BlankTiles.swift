import Synchronization
import TileIndex

/// Tiles without anything on them, made once: transparent, white where the format has no transparency.
final class BlankTiles: Sendable {
  private struct Key: Hashable {
    var size: ImageSize
    var format: TileFormat
  }

  private let tiles = Mutex<[Key: Tile]>([:])

  func tile(_ size: ImageSize, format: TileFormat, drawers: DrawerPool) throws -> Tile {
    let key = Key(size: size, format: format)
    if let tile = tiles.withLock({ $0[key] }) { return tile }
    let tile = try drawers.withDrawer { try $0.drawBlank(size, format: format) }
    tiles.withLock { $0[key] = tile }
    return tile
  }
}
