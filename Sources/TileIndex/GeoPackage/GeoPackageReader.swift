package import Support

/// Reads the raster tiles of a GeoPackage (OGC 12-128r18) from any producer: one of its tables of tiles, in Web
/// Mercator or WGS 84 degrees, on a well-known grid or one of its own. Never writes to the file or beside it.
///
/// A reader has one connection and is for one thread at a time. Opening it takes as long as an MBTiles bundle.
package final class GeoPackageReader: DatabaseReader {
  /// The file.
  package let path: String
  package let matrixSet: TileMatrixSet
  /// As ``BundleWriter`` stored them; of other producers, what the GeoPackage's own tables say.
  package let metadata: StoredMetadata
  /// The table that is read.
  package var table: String { contents.table }
  /// All tables of raster tiles; without a name the first is read.
  package var tables: [String] { contents.tables }

  package let database: BundleDatabase
  let contents: GeoPackageContents
  /// For SQL; a temporary view once the reader has made an index.
  private(set) var quotedTable: String
  package private(set) var lookup: SQLiteStatement
  package private(set) lazy var scansForTiles = AddressIndex.scans(Self.lookup(in: quotedTable), connection)

  /// Opens a GeoPackage.
  ///
  /// - Parameters:
  ///   - path: a GeoPackage.
  ///   - table: one of its tables of tiles; nil for the first.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  package init(path: String, table: String? = nil) throws {
    self.path = path
    let database = try BundleAccess.open(path)
    let connection = database.connection
    self.database = database
    let contents = try database.reading(path) {
      try MetadataLimits.reading("a table of the GeoPackage", of: path, connection) {
        try GeoPackageContents(connection, path: path, table: table)
      }
    }
    let quotedTable = GeoPackageSchema.quoted(contents.table)
    (self.contents, self.quotedTable) = (contents, quotedTable)
    (lookup, metadata, matrixSet) = try database.reading(path) {
      let lookup = try connection.prepare(Self.lookup(in: quotedTable))
      if let rows = try GeoPackageMetadata.rows(of: contents.table, connection, path: path) {
        let metadata = try MetadataLimits.stored(rows, path: path)
        return (lookup, metadata, try Self.matrixSet(contents, stated: metadata, path: path))
      }
      let matrixSet = try Self.matrixSet(contents, stated: nil, path: path)
      return (
        lookup, try MetadataLimits.stored(try Self.metadata(contents, matrixSet, quotedTable, connection), path: path),
        matrixSet
      )
    }
  }

  private static func matrixSet(
    _ contents: GeoPackageContents, stated metadata: StoredMetadata?, path: String
  ) throws -> TileMatrixSet {
    let isFlat = contents.isUndefinedCartesian && metadata?[FlatImage.metadataKey] != nil
    if let stated = try metadata?.matrixSet(path: path) {
      guard isFlat || contents.isIn(stated.projection), contents.grid.agrees(with: stated) else {
        throw BundleError(
          .malformed, path: path, "its metadata say \(stated.identifier), and its tile matrices are others",
          remedy: "make it again")
      }
      return stated
    }
    guard let projection = isFlat ? .webMercator : contents.projection else {
      let (organization, code) = contents.system
      throw BundleError(
        .malformed, path: path,
        "its tiles lie in \(organization):\(code), and of other makers only EPSG:3857 and EPSG:4326 are read",
        remedy: "warp it first: gdalwarp -t_srs EPSG:3857 \(path.shellQuoted) map.tif, then cut map.tif")
    }
    do {
      return try contents.grid.matrixSet(projection, name: contents.table)
    } catch let error as GridError {
      throw BundleError(
        .malformed, path: path, "has a grid that cannot be read: \(error.message)",
        remedy: "warp it first: gdalwarp -t_srs EPSG:3857 \(path.shellQuoted) map.tif, then cut map.tif")
    }
  }

  /// What other producers' files say of themselves.
  private static func metadata(
    _ contents: GeoPackageContents, _ set: TileMatrixSet, _ table: String, _ connection: SQLiteConnection
  ) throws -> [StoredMetadata.Entry] {
    var rows: [StoredMetadata.Entry] = []
    func add(_ name: String, _ value: String?) {
      if let value, !value.isEmpty { rows.append(StoredMetadata.Entry(name: name, value: value)) }
    }
    add("name", contents.identifier ?? contents.table)
    let first = try connection.prepare("SELECT tile_data FROM \(table) LIMIT 1").first {
      TileFormat(tile: $0.bytes(0))
    }
    add("format", (first ?? nil)?.rawValue)
    if let extent = contents.extent.flatMap({ $0.intersection(set.boundingBox) }), extent.width > 0, extent.height > 0 {
      let box = set.geographicBounds(ofCRSBounds: extent)
      add("bounds", [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ","))
    }
    let zooms = try connection.prepare("SELECT min(zoom_level), max(zoom_level) FROM \(table)")
      .first { $0.isNull(0) ? nil : (low: $0.int(0), high: $0.int(1)) }
    if let zooms, let zooms {
      add("minzoom", String(zooms.low))
      add("maxzoom", String(zooms.high))
    }
    add("description", contents.description)
    return rows
  }

  package func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try withStoredTile(tile, body) }
  }

  private static func lookup(in table: String) -> String {
    "SELECT tile_data FROM \(table) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
  }

  package func prepareLookups() throws {
    guard scansForTiles else { return }
    try database.keepingToThisState(path) {
      _ = try AddressIndex.make(
        of: AddressIndex.Source(tiles: quotedTable, stored: quotedTable, layout: .flat),
        bytes: BundleAccess.budgetBytes(path),
        connection)
      quotedTable = AddressIndex.tiles
      lookup = try connection.prepare(Self.lookup(in: quotedTable))
    }
    scansForTiles = false
  }

  package var keyTable: String { quotedTable }

  package func tile(zoom: Int, column: Int, storedRow: Int) -> TileID? {
    let tile = TileID(unchecked: zoom, column, storedRow)
    return matrixSet.contains(tile) ? tile : nil
  }

  package func storedRow(of tile: TileID) -> Int { tile.row }

  package func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    try residentRead { try withStoredTile(tile, body) }
  }

  /// - Complexity: O(tiles), without reading blobs.
  package var knownTileCount: Int? { try? reading { try count("SELECT count(*) FROM \(quotedTable)") } }

  /// Column by column: the index has the rows of one in the order asked for, backwards.
  package func forEachTile(in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    guard
      let range = matrixSet.zooms.contains(range.zoom)
        ? range.intersection(matrixSet.wholeRange(zoom: range.zoom)) : nil
    else { return }
    try prepareLookups()
    let (next, column) = try reading {
      (
        try connection.prepare(
          "SELECT min(tile_column) FROM \(quotedTable) WHERE zoom_level = \(range.zoom) AND tile_column >= ?1"),
        try connection.prepare(
          """
          SELECT tile_row, tile_data FROM \(quotedTable) WHERE zoom_level = \(range.zoom) AND tile_column = ?1 \
          AND tile_row BETWEEN \(range.rows.lowerBound) AND \(range.rows.upperBound) ORDER BY tile_row DESC
          """)
      )
    }
    var first = range.columns.lowerBound
    while true {
      next.bind(1, first)
      guard try reading({ try next.step() }), next.type(0) == .integer, next.int(0) <= range.columns.upperBound else {
        return
      }
      first = next.int(0) + 1
      next.reset()
      column.bind(1, first - 1)
      defer { column.reset() }
      while try reading({ try column.step() }) {
        let bytes = column.bytes(1)
        if !bytes.isEmpty { try body(TileID(unchecked: range.zoom, first - 1, column.int(0)), bytes) }
      }
    }
  }

  package func places() throws -> StoredPlaces {
    try reading { try GeoPackageMetadata.places(of: table, connection, path: path) }
  }

  package var mixesFormats: Bool { true }

  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    var found = try BundleInspection(walking: self, .geopackage, fileBytes: FileSystem.size(path), progress)
    found.pageBytes = try pragma("page_size")
    found.tables = [table] + tables.filter { $0 != table }
    return found
  }

  package func replaceMetadata(
    _ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void
  ) throws {
    try replaceFile(progress) { try GeoPackageMetadata.replace(rows, of: table, in: $0) }
  }
}
