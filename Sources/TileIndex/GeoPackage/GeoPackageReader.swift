package import Support

/// Reads the raster tiles of a GeoPackage (OGC 12-128r18) from any producer: one of its tables of tiles, in Web
/// Mercator or WGS 84 degrees, on a well-known grid or one of its own. Never writes to the file or beside it.
///
/// A reader has one connection and is for one thread at a time. Opening it takes as long as an MBTiles bundle.
public final class GeoPackageReader: DatabaseReader {
  /// The file.
  public let path: String
  public let matrixSet: TileMatrixSet
  /// As ``BundleWriter`` stored them; of other producers, what the GeoPackage's own tables say.
  public let metadata: StoredMetadata
  /// The table that is read.
  public var table: String { contents.table }
  /// All tables of raster tiles; without a name the first is read.
  public var tables: [String] { contents.tables }

  package let database: BundleDatabase
  let contents: GeoPackageContents
  /// For SQL; a temporary view once the reader has made an index.
  private(set) var quotedTable: String
  package private(set) var lookup: SQLiteStatement
  public private(set) lazy var scansForTiles = AddressIndex.scans(Self.lookup(in: quotedTable), connection)

  /// Opens a GeoPackage.
  ///
  /// - Parameters:
  ///   - path: a GeoPackage.
  ///   - table: one of its tables of tiles; nil for the first.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  public init(path: String, table: String? = nil) throws {
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
      TileFormat(sniffing: $0.bytes(0))
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

  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try withStoredTile(tile, body) }
  }

  private static func lookup(in table: String) -> String {
    "SELECT tile_data FROM \(table) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
  }

  public func readingOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try database.readingOneState(path, body)
  }

  public func holdOneState() throws { try database.holdOneState(path) }

  public func prepareLookups() throws {
    guard scansForTiles else { return }
    try database.keepingToThisState(path) {
      _ = try AddressIndex.make(
        of: AddressIndex.Source(tiles: quotedTable, layout: .flat), bytes: FileSystem.size(path), connection)
      quotedTable = AddressIndex.tiles
      lookup = try connection.prepare(Self.lookup(in: quotedTable))
    }
    scansForTiles = false
  }

  package var keyTable: String { quotedTable }

  package func tile(zoom: Int, column: Int, storedRow: Int) -> TileID? {
    guard let tile = try? TileID(zoom: zoom, column: column, row: storedRow) else { return nil }
    return matrixSet.contains(tile) ? tile : nil
  }

  package func storedRow(of tile: TileID) -> Int { tile.row }

  public func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    try residentRead { try withStoredTile(tile, body) }
  }

  /// The number of tiles.
  ///
  /// - Complexity: O(tiles), without reading blobs.
  func tileCount() throws -> Int { try reading { try count("SELECT count(*) FROM \(quotedTable)") } }

  /// - Complexity: O(log tiles) for each zoom.
  public func zooms() throws -> [Int] {
    try reading {
      let next = try connection.prepare("SELECT min(zoom_level) FROM \(quotedTable) WHERE zoom_level > ?1")
      var zooms: [Int] = []
      while true {
        next.bind(1, zooms.last ?? -1)
        guard try next.step(), next.type(0) == .integer, matrixSet.zooms.contains(next.int(0)) else { return zooms }
        zooms.append(next.int(0))
        next.reset()
      }
    }
  }

  /// - Complexity: O(tiles of the zoom).
  public func range(zoom: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    return try reading {
      let statement = try connection.prepare(
        """
        SELECT min(tile_column), max(tile_column), min(tile_row), max(tile_row) FROM \(quotedTable) \
        WHERE zoom_level = ?1 AND tile_column BETWEEN 0 AND ?2 AND tile_row BETWEEN 0 AND ?3
        """)
      statement.bind(1, zoom)
      statement.bind(2, matrixSet[zoom].matrixWidth - 1)
      statement.bind(3, matrixSet[zoom].matrixHeight - 1)
      guard try statement.step(), statement.type(0) == .integer else { return nil }
      return TileRange(
        zoom: zoom, columns: statement.int(0)...statement.int(1), rows: statement.int(2)...statement.int(3))
    }
  }

  /// Column by column: the index has the rows of one in the order asked for, backwards.
  public func forEachTile(in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
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

  /// The places that were stored with the tiles.
  func storedPlaces() throws -> StoredPlaces {
    try reading { try GeoPackageMetadata.places(of: table, connection, path: path) }
  }
}
