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
      try GeoPackageTables(path: $0, target: path, matrixSet: matrixSet, formats: mixing.union([format]))
    }
  }
}

/// The tables of a GeoPackage that is being written. Every tile has a row with its own bytes, as readers expect.
///
/// Unchecked, because the writer uses it only under its mutex.
final class GeoPackageTables: TileTables, @unchecked Sendable {
  /// Rows with blobs leave half of larger pages empty.
  private static let pageBytes = 4096

  /// As the caller named it, for messages.
  private let target: String
  private let matrixSet: TileMatrixSet
  private let formats: Set<TileFormat>
  private let database: AppendedDatabase
  private let tiles: AppendedTable
  private(set) var coverage = TileCoverage()
  var imageCount: Int { coverage.count }
  var places: [Place]?
  /// Pixels of the first tile of each zoom.
  private var sizes: [Int: GeoPackageGrid.TileSize] = [:]

  /// - Parameters:
  ///   - path: the empty file to write.
  ///   - formats: that tiles may have.
  init(path: String, target: String, matrixSet: TileMatrixSet, formats: Set<TileFormat>) throws {
    (self.target, self.matrixSet, self.formats) = (target, matrixSet, formats)
    let table = GeoPackageSchema.tiles
    database = try AppendedDatabase(
      path, target: target, pageBytes: Self.pageBytes, tables: [table: true], addressTable: table
    ) { connection in
      for statement in GeoPackageSchema.statements { try connection.execute(statement) }
    }
    tiles = database.table(table)
  }

  static let usesHashes = false
  static func canStorePlaces() throws -> Bool { true }

  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws {
    try tiles.append([UInt32(tile.zoom), UInt32(tile.column), UInt32(tile.row)], data)
    try database.noteAddress(zoom: tile.zoom, column: tile.column, row: tile.row)
    coverage.insert(tile)
    if sizes[tile.zoom] == nil, let header = ImageHeader(data) {
      sizes[tile.zoom] = GeoPackageGrid.TileSize(width: header.width, height: header.height)
    }
  }

  func finish(_ rows: [(name: String, value: String)]) throws {
    let connection = try database.finish { again in
      BundleError.putTwice(TileID(unchecked: Int(again.zoom), Int(again.column), Int(again.row)), path: target)
    }
    // SQLite itself would have counted AUTOINCREMENT's rows.
    try connection.insert(into: "sqlite_sequence", GeoPackageSchema.tiles, Int(tiles.rowCount))
    let rows = rows.map { StoredMetadata.Entry(name: $0.name, value: $0.value) }
    let metadata = StoredMetadata(rows)
    let grid = GeoPackageGrid(matrixSet, zooms: coverage.zooms ?? 0...0, sizes: sizes)
    // A flat image lies nowhere on Earth, and GIS programs show it so.
    let isFlat = metadata[FlatImage.metadataKey] != nil
    let own = isFlat ? .undefinedCartesian : GeoPackageSchema.ReferenceSystem(of: matrixSet.projection)
    for system in [.wgs84, .undefinedCartesian, .undefinedGeographic] + ([4326, -1].contains(own.id) ? [] : [own]) {
      try connection.insert(
        into: "gpkg_spatial_ref_sys", system.name, system.id, system.organization, system.id, system.definition,
        system.description)
    }
    let system = own.id
    let extent = grid.extent(
      of: matrixSet.crsBounds(ofGeographicBounds: metadata.bounds ?? coverage.bounds(in: matrixSet) ?? .world))
    try connection.insert(
      into: "gpkg_contents", GeoPackageSchema.tiles, "tiles", metadata.name ?? GeoPackageSchema.tiles,
      metadata.description ?? "", GeoPackageSchema.date, extent.west, extent.south, extent.east, extent.north, system)
    try connection.insert(
      into: "gpkg_tile_matrix_set", GeoPackageSchema.tiles, system, grid.box.west, grid.box.south, grid.box.east,
      grid.box.north)
    for level in grid.levels {
      try connection.insert(
        into: "gpkg_tile_matrix", GeoPackageSchema.tiles, level.zoom, level.matrixWidth, level.matrixHeight,
        level.tileSize.width, level.tileSize.height, level.pixelX, level.pixelY)
    }
    for (applies, name) in [
      (formats.contains(.webp), GeoPackageSchema.webp), (!grid.doubles, GeoPackageSchema.otherZooms),
    ] where applies {
      try connection.insert(
        into: "gpkg_extensions", GeoPackageSchema.tiles, "tile_data", name.name, name.url, "read-write")
    }
    for table in ["gpkg_metadata", "gpkg_metadata_reference"] {
      try connection.insert(
        into: "gpkg_extensions", table, nil, GeoPackageSchema.metadata.name, GeoPackageSchema.metadata.url, "read-write"
      )
    }
    try GeoPackageMetadata.write(rows, places: places ?? [], of: GeoPackageSchema.tiles, to: connection)
    try connection.execute("COMMIT")
  }
}

extension SQLiteConnection {
  fileprivate func insert(into table: String, _ values: (any Sendable)?...) throws {
    let places = (1...values.count).map { "?\($0)" }.joined(separator: ", ")
    let statement = try prepare("INSERT INTO \(table) VALUES (\(places))")
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
