/// A rule being checked on one bundle. Each rule has its own file; very small ones share it with a related rule.
///
/// ``begin(_:)`` checks the file, the tables and the metadata, ``visit(_:_:)`` every row in order (zoom, column, row),
/// ``end(_:_:)`` the totals.
protocol BundleRule {
  static var rule: VerificationRule { get }
  init(_ bundle: VerifiedBundle)
  mutating func begin(_ findings: inout Findings) throws
  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws
  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws
}

extension BundleRule {
  mutating func begin(_ findings: inout Findings) throws {}
  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {}
  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {}
}

/// Decodes a tile's bytes completely, or throws. Returns the size in pixels; nil for formats without one (vector
/// tiles).
public typealias TileDecoder = (UnsafeRawBufferPointer, TileFormat) throws -> (width: Int, height: Int)?

/// The input of all rules.
struct VerifiedBundle {
  let reader: MBTilesReader
  let decode: TileDecoder

  var metadata: StoredMetadata { reader.metadata }
  var matrixSet: TileMatrixSet { reader.matrixSet }
  /// True for the bundles that MBTiles specifies.
  var isMercator: Bool { matrixSet == .webMercatorQuad && reader.schema.tiles == MBTilesSchema.mercatorView }
}

/// A row of the tiles, as rules see it.
struct VisitedTile {
  let row: MBTilesReader.Row
  /// Nil when the row's address is not in the grid.
  let tile: TileID?
  /// Detected from the bytes.
  let format: TileFormat?

  /// The row's address, for messages about rows without a tile.
  var numbers: String { "zoom_level \(row.zoom), tile_column \(row.column), tile_row \(row.storedRow)" }
}
