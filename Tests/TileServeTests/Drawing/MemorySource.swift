import Synchronization
import TestSupport
import TileImage
import TileIndex

@testable import TileServe

/// A tileset in memory that counts reads.
final class MemorySource: TileSource {
  private let tilesetInfo: TilesetInfo
  private let tiles: [TileID: [UInt8]]
  private let reads = Mutex<[TileID]>([])
  let isSlow: Bool
  /// While this is set, reads wait for it.
  let gate = Locked<Gate?>(nil)
  let revision = SourceRevision.next()

  /// - Parameter zooms: those that the tiles have, when nil.
  init(
    _ id: String, format: TileFormat = .png, matrixSet: TileMatrixSet = .webMercatorQuad, tilePixels: Int = 64,
    zooms: ClosedRange<Int>? = nil, tiles: [TileID: [UInt8]], bounds: BoundingBox = .world, isSlow: Bool = false
  ) {
    self.isSlow = isSlow
    let levels = tiles.keys.map(\.zoom)
    tilesetInfo = TilesetInfo(
      id: id, name: id, metadata: StoredMetadata([]), matrixSet: matrixSet, format: format,
      zooms: zooms ?? (levels.min() ?? 0)...(levels.max() ?? 0), bounds: bounds,
      center: BundleMetadata.Center(longitude: 0, latitude: 0, zoom: 0), tilePixels: tilePixels, modified: 0)
    self.tiles = tiles
  }

  func info() -> TilesetInfo { tilesetInfo }

  func storedTile(_ tile: TileID) -> [UInt8]? {
    reads.withLock { $0.append(tile) }
    gate.withLock { $0 }?.wait()
    return tiles[tile]
  }

  /// The tiles that were read, in order.
  var readTiles: [TileID] { reads.withLock { $0 } }
}

/// Grids of small tiles, so that tests draw few pixels.
enum Grids {
  /// The web map's, with tiles of 64 pixels: a tileset of `tilePixels` 64 has plain tiles, one of 128 those for dense
  /// screens.
  static let quad = degrees("Quad64", edges: (0...20).map { 90 / Double(1 << $0) })
  /// Steps of 4, 4, 4, 4 and 3, as some atlases have them.
  static let atlas = degrees("Atlas64", edges: [32, 8, 2, 0.5, 0.125, 0.125 / 3])

  private static func degrees(_ name: String, edges: [Double]) -> TileMatrixSet {
    try! TileMatrixSet(identifier: name, uri: "urn:test:\(name)", tileEdges: edges, tileSizes: [64])
  }
}

/// A tile of any grid; tests know what exists.
func tile(_ zoom: Int, _ column: Int, _ row: Int) -> TileID { TileID(unchecked: zoom, column, row) }
