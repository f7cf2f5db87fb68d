import Synchronization
import TileIndex

/// A request as the prefetcher sees it: the client, the layers and the tile.
struct PrefetchRequest: Sendable {
  /// A number for the client's address.
  var client: Int
  var layers: [Tileset]
  var policies: [MissingTilePolicy]
  var tile: TileID
  var scale: Int
  var format: TileFormat?

  /// Distinguishes one client's maps.
  struct Map: Hashable, Sendable {
    var client: Int
    var layers: [ObjectIdentifier]
    var scale: Int
    var format: TileFormat?
  }

  var map: Map { Map(client: client, layers: layers.map(ObjectIdentifier.init), scale: scale, format: format) }

  /// The same map's query for a tile.
  ///
  /// - Parameter sources: in place of the layers.
  func query(_ tile: TileID, from sources: [any TileSource]? = nil) -> TileQuery {
    TileQuery(layers: sources ?? layers, policies: policies, tile: tile, scale: scale, format: format)
  }

  /// True if a tile of this map takes so long that prefetching pays: it is rendered, remote or on a slow disk.
  ///
  /// - Parameter info: what is known of the lowest layer.
  func takesTime(_ tile: TileID, _ info: TilesetInfo) -> Bool {
    if needsDrawing(tile, info) { return true }
    return layers.contains { $0.source.fetchesAhead || $0.isSlow }
  }

  /// True if a tile is not served as stored, as far as that is known without reading it.
  func needsDrawing(_ tile: TileID, _ info: TilesetInfo) -> Bool {
    if layers.count > 1 { return true }
    if let format, format != info.format { return true }
    if scale == 2 { return info.tilePixels < 2 * info.matrixSet[tile.zoom].tileWidth }
    return tile.zoom > info.zooms.upperBound && policies[0] == .overzoom
  }
}

/// The tiles of a tileset that are available locally. Prefetched tiles are rendered from these, so that an upstream
/// gets no more requests than ``UpstreamSource`` allows.
final class KnownTiles: TileSource {
  let tileset: Tileset
  private let noted = Mutex<[TileID]>([])

  init(_ tileset: Tileset) { self.tileset = tileset }

  /// The tiles that would have to be requested from the upstream.
  var lacking: [TileID] { noted.withLock { $0 } }

  func info() throws -> TilesetInfo { try tileset.info() }

  func storedTile(_ tile: TileID) throws -> [UInt8]? {
    switch try tileset.source.knowledge(of: tile) {
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
