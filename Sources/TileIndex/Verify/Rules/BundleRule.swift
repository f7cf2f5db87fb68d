/// One rule at work on one bundle. A rule lives in a file of its own, or with its nearest kin.
///
/// ``begin(_:)`` sees the file, the tables and the metadata, ``visit(_:_:)`` every row of the tiles in order (zoom, column, row), ``end(_:_:)`` what they add up to.
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

/// Decodes a tile's bytes completely, or throws. The size in pixels; nil for formats without one (vector tiles).
public typealias TileDecoder = (UnsafeRawBufferPointer, TileFormat) throws -> (width: Int, height: Int)?

/// What all rules look at.
struct VerifiedBundle {
  let reader: MBTilesReader
  let decode: TileDecoder

  var metadata: StoredMetadata { reader.metadata }
  var matrixSet: TileMatrixSet { reader.matrixSet }
  /// True for the bundles that MBTiles is made for.
  var isMercator: Bool { matrixSet == .webMercatorQuad && reader.schema.tiles == MBTilesSchema.mercatorView }
}

/// A row of the tiles on its way past the rules.
struct VisitedTile {
  let row: MBTilesReader.Row
  /// Nil when the row's numbers are no tile of the grid.
  let tile: TileID?
  /// Found in the bytes.
  let format: TileFormat?

  /// The row's numbers, for messages about what is no tile.
  var numbers: String { "zoom_level \(row.zoom), tile_column \(row.column), tile_row \(row.storedRow)" }
}
