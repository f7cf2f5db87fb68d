import Support

/// A rule being checked on one bundle. Related rules share a file.
///
/// ``begin(_:)`` checks the file, the tables and the metadata, ``visit(_:_:)`` every tile in the order of its
/// container, ``end(_:_:)`` the totals.
protocol BundleRule {
  static var rule: VerificationRule { get }
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
package typealias TileDecodeCheck = (UnsafeRawBufferPointer, TileFormat) throws -> (width: Int, height: Int)?

/// The input of the rules that hold for every container.
struct VerifiedBundle {
  let metadata: StoredMetadata
  let matrixSet: TileMatrixSet
  /// See ``BundleReader/placementWarning``.
  let placement: BundleError?
  let container: BundleContainer
  let decode: TileDecodeCheck
  /// The stated format, if it is one whose bytes are not known here.
  let opaqueFormat: String?

  init(_ reader: any BundleReader, _ container: BundleContainer, decode: @escaping TileDecodeCheck) {
    metadata = reader.metadata
    placement = reader.placementWarning
    matrixSet = reader.matrixSet
    self.container = container
    self.decode = decode
    opaqueFormat = metadata["format"].flatMap { word in
      guard TileFormat(lenient: word) == nil else { return nil }
      // The header of a PMTiles archive has a number, which the reader translates.
      return TileFormat.isMediaType(word) || container == .pmtiles ? word : nil
    }
  }

  /// The format that a tile's bytes have. Vector tiles need not be compressed outside MBTiles.
  func format(of bytes: UnsafeRawBufferPointer) -> TileFormat? {
    if let format = TileFormat(tile: bytes) {
      return format == .pbf && container == .mbtiles && !Gunzip.isGzip(bytes) ? nil : format
    }
    // The tag of a layer (Mapbox Vector Tile 2.1, section 4.1).
    return container != .mbtiles && metadata.format == .pbf && bytes.first == 0x1a ? .pbf : nil
  }
}

/// A tile, as rules see it.
struct VisitedTile {
  /// Nil when the address is not in the grid.
  let tile: TileID?
  let data: UnsafeRawBufferPointer
  /// Detected from the bytes.
  let format: TileFormat?
  /// The row of the table; nil outside MBTiles.
  var row: MBTilesReader.Row?
}

extension MBTilesReader.Row {
  /// The address, for messages about rows without a tile.
  var numbers: String { "zoom_level \(zoom), tile_column \(column), tile_row \(storedRow)" }
}
