import Synchronization
import TileIndex

/// A tileset as far as its tiles are known here: what is drawn ahead of need is drawn from these, so that no more is asked of another server than ``Tileset/fetchAhead(_:)`` allows.
final class KnownTiles: TileSource {
  let tileset: Tileset
  private let noted = Mutex<[TileID]>([])

  init(_ tileset: Tileset) { self.tileset = tileset }

  /// The tiles for which the other server would have had to be asked.
  var lacking: [TileID] { noted.withLock { $0 } }

  func info() throws -> TilesetInfo { try tileset.info() }

  func storedTile(_ tile: TileID) throws -> [UInt8]? {
    switch try tileset.knowledge(of: tile) {
    case .tile(let bytes): return bytes
    case Upstream.Knowledge.none?: return nil
    case nil: return try tileset.storedTile(tile)
    case .unknown:
      noted.withLock { $0.append(tile) }
      throw ServeError(
        .unavailable, "tile \(tile) of \(tileset.id) is not kept: it is asked for when somebody wants it")
    }
  }

  func keptTile(_ tile: TileID) throws -> [UInt8]? { try tileset.keptTile(tile) }

  var revision: SourceRevision { tileset.revision }
  var isSlow: Bool { tileset.isSlow }
}
