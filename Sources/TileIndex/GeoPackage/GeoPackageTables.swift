import CSQLite
import Support

extension BundleWriter {
  /// Starts a GeoPackage with one table of raster tiles (OGC 12-128r18).
  ///
  /// - Throws: ``BundleError``: `.mismatch` for vector tiles; `.exists`, `.busy`, `.writeFailed`.
  convenience init(
    geoPackage path: String, matrixSet: TileMatrixSet, format: TileFormat, replacing: Bool, mixing: Set<TileFormat>
  ) throws {
    guard format != .pbf else {
      throw BundleError(
        .mismatch, path: path, "GeoPackage tiles are images, and these are vector tiles",
        remedy: "write MBTiles, PMTiles or a folder")
    }
    try self.init(path: path, matrixSet: matrixSet, format: format, replacing: replacing, mixing: mixing) {
      try GeoPackageTables(path: $0, matrixSet: matrixSet, formats: mixing.union([format]))
    }
  }
}

/// The tables of a GeoPackage that is being written: one connection, one transaction. Every tile has a row with its own
/// bytes, as readers expect.
///
/// Unchecked, because the writer uses it only under its mutex.
final class GeoPackageTables: TileTables, @unchecked Sendable {
  /// Rows with blobs leave half of larger pages empty.
  private static let pageBytes = 4096

  private let connection: SQLiteConnection
  private let matrixSet: TileMatrixSet
  private let formats: Set<TileFormat>
  private let insertTile: SQLiteStatement
  private(set) var coverage = TileCoverage()
  private(set) var imageBytes = 0
  var imageCount: Int { coverage.count }
  var places: [Place]?
  /// Pixels of the first tile of each zoom.
  private var sizes: [Int: GeoPackageGrid.TileSize] = [:]

  /// - Parameter formats: that tiles may have.
  init(path: String, matrixSet: TileMatrixSet, formats: Set<TileFormat>) throws {
    (self.matrixSet, self.formats) = (matrixSet, formats)
    connection = try SQLiteConnection(bundleToWrite: path)
    try connection.beginBundle(pageBytes: Self.pageBytes)
    for statement in GeoPackageSchema.statements { try connection.execute(statement) }
    insertTile = try connection.prepare(
      """
      INSERT INTO \(GeoPackageSchema.tiles) (zoom_level, tile_column, tile_row, tile_data) VALUES (?1, ?2, ?3, ?4) \
      ON CONFLICT DO NOTHING
      """)
  }

  static let usesHashes = false

  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws -> Bool {
    insertTile.bind(1, tile.zoom)
    insertTile.bind(2, tile.column)
    insertTile.bind(3, tile.row)
    insertTile.bind(4, uncopied: data)
    try insertTile.run()
    guard insertTile.changes == 1 else { return false }
    coverage.insert(tile)
    imageBytes += data.count
    if sizes[tile.zoom] == nil, let header = ImageHeader(data) {
      sizes[tile.zoom] = GeoPackageGrid.TileSize(width: header.width, height: header.height)
    }
    return true
  }

  func canStorePlaces() throws -> Bool { true }

  func finish(_ rows: [(name: String, value: String)]) throws {
    let rows = rows.map { StoredMetadata.Entry(name: $0.name, value: $0.value) }
    let metadata = StoredMetadata(rows)
    let grid = GeoPackageGrid(matrixSet, zooms: coverage.zooms ?? 0...0, sizes: sizes)
    let mercator = GeoPackageSchema.ReferenceSystem.webMercator
    for system in [.wgs84, .undefinedCartesian, .undefinedGeographic]
      + (matrixSet.projection == .webMercator ? [mercator] : [])
    {
      try insert(
        "gpkg_spatial_ref_sys", system.name, system.id, system.organization, system.id, system.definition,
        system.description)
    }
    let system = matrixSet.projection == .webMercator ? mercator.id : GeoPackageSchema.ReferenceSystem.wgs84.id
    let extent = grid.extent(
      of: matrixSet.crsBounds(ofGeographicBounds: metadata.bounds ?? coverage.bounds(in: matrixSet) ?? .world))
    try insert(
      "gpkg_contents", GeoPackageSchema.tiles, "tiles", metadata.name ?? GeoPackageSchema.tiles,
      metadata.description ?? "", GeoPackageSchema.date, extent.west, extent.south, extent.east, extent.north, system)
    try insert(
      "gpkg_tile_matrix_set", GeoPackageSchema.tiles, system, grid.box.west, grid.box.south, grid.box.east,
      grid.box.north)
    for level in grid.levels {
      try insert(
        "gpkg_tile_matrix", GeoPackageSchema.tiles, level.zoom, level.matrixWidth, level.matrixHeight,
        level.tileSize.width, level.tileSize.height, level.pixelX, level.pixelY)
    }
    if formats.contains(.webp) { try register(GeoPackageSchema.webp, column: "tile_data") }
    if !grid.doubles { try register(GeoPackageSchema.otherZooms, column: "tile_data") }
    for table in ["gpkg_metadata", "gpkg_metadata_reference"] {
      try insert(
        "gpkg_extensions", table, nil, GeoPackageSchema.metadata.name, GeoPackageSchema.metadata.url, "read-write")
    }
    try GeoPackageMetadata.write(rows, places: places ?? [], of: GeoPackageSchema.tiles, to: connection)
    try connection.execute("COMMIT")
  }

  private func register(_ extension: (name: String, url: String), column: String) throws {
    try insert(
      "gpkg_extensions", GeoPackageSchema.tiles, column, `extension`.name, `extension`.url, "read-write")
  }

  private func insert(_ table: String, _ values: (any Sendable)?...) throws {
    let places = (1...values.count).map { "?\($0)" }.joined(separator: ", ")
    let statement = try connection.prepare("INSERT INTO \(table) VALUES (\(places))")
    for (index, value) in values.enumerated() {
      switch value {
      case let number as Int: statement.bind(Int32(index + 1), number)
      case let number as Double: statement.bind(Int32(index + 1), number)
      case let text as String: statement.bind(Int32(index + 1), text)
      default: statement.bindNull(Int32(index + 1))
      }
    }
    try statement.run()
  }
}
