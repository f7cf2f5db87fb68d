import Support

/// `GPKG:file:table`, GDAL's name for one of several tables in a GeoPackage.
struct GeoPackageName {
  let path: String
  let table: String

  /// Nil for other names, and for a file that is called so.
  init?(_ name: String) {
    let prefix = "GPKG:"
    guard name.prefix(prefix.count).uppercased() == prefix, let colon = name.lastIndex(of: ":"),
      name[..<colon].utf8.count >= prefix.utf8.count, (try? FileSystem.status(name) == nil) == true
    else { return nil }
    path = String(name[..<colon].dropFirst(prefix.count))
    table = String(name[name.index(after: colon)...])
  }
}

/// A table of raster tiles in a GeoPackage of any maker, and what the tables of the specification say of it.
struct GeoPackageContents {
  /// The tables of raster tiles, in the order of `gpkg_contents`.
  let tables: [String]
  /// The one that is read.
  let table: String
  let identifier: String?
  let description: String?
  /// CRS units; nil when it is not given.
  let extent: BoundingBox?
  /// Nil for a CRS other than Web Mercator and degrees.
  let projection: TileMatrixSet.Projection?
  /// The organization and its code, such as `EPSG` and 2056.
  let system: (organization: String, code: Int)
  let grid: GeoPackageGrid

  /// - Parameter name: the table to read; nil for the first.
  /// - Throws: ``BundleError`` with `.malformed` or `.notFound`; ``SQLiteError``.
  init(_ connection: SQLiteConnection, path: String, table name: String?) throws {
    func malformed(_ words: String, _ remedy: String) -> BundleError {
      BundleError(.malformed, path: path, words, remedy: remedy)
    }
    let columns = try connection.columns(of: "gpkg_contents")
    guard columns["table_name"] != nil, columns["data_type"] != nil else {
      throw malformed(
        "says to be a GeoPackage, but has no table gpkg_contents", "check that it is the right file and is complete")
    }
    let all = try connection.prepare(
      "SELECT table_name, lower(data_type) FROM gpkg_contents ORDER BY rowid LIMIT \(Self.tablesMax + 1)"
    )
    .all { (table: $0.text(0), type: $0.text(1)) }
    guard all.count <= Self.tablesMax else {
      throw malformed("has more than \(Self.tablesMax) tables", "split it into several GeoPackages")
    }
    tables = all.filter { $0.type == "tiles" }.map(\.table)
    guard let first = tables.first else {
      let kinds = Set(all.map(\.type)).sorted().joined(separator: ", ")
      throw malformed(
        "has no raster tiles (it holds \(kinds.isEmpty ? "nothing" : kinds))",
        all.contains { $0.type == "2d-gridded-coverage" }
          ? "make a GeoTIFF of its values with gdal_translate, and cut that"
          : "draw vectors in a GIS, or name a GeoPackage with tiles")
    }
    if let name {
      guard let found = tables.first(where: { $0.lowercased() == name.lowercased() }) else {
        throw BundleError(
          .notFound, path: path, "has no raster tiles called \"\(name)\"",
          remedy: "it has: \(tables.joined(separator: ", "))")
      }
      table = found
    } else {
      table = first
    }
    let quoted = GeoPackageSchema.quoted(table)
    let tileColumns = try connection.columns(of: quoted)
    for column in ["zoom_level", "tile_column", "tile_row", "tile_data"] where tileColumns[column] == nil {
      throw malformed("its table of tiles \(table) has no column \(column)", "make or copy it again")
    }

    let about = try connection.prepare(
      "SELECT identifier, description, min_x, min_y, max_x, max_y FROM gpkg_contents WHERE table_name = ?1")
    about.bind(1, table)
    let facts = try about.first { row in
      let box = BoundingBox(west: row.double(2), south: row.double(3), east: row.double(4), north: row.double(5))
      return (
        identifier: row.optionalText(0), description: row.optionalText(1),
        extent: (2...5).contains { row.isNull($0) } || box.width <= 0 || box.height <= 0 ? nil : box
      )
    }
    (identifier, description, extent) = facts ?? (nil, nil, nil)
    guard let set = try Self.matrixSetRow(connection, table) else {
      throw malformed("its table of tiles \(table) is not in gpkg_tile_matrix_set", "make or copy it again")
    }
    let levels = try Self.levels(connection, table)
    grid = GeoPackageGrid(box: set.box, levels: levels)
    system = (set.organization.uppercased(), set.code)
    switch (set.organization, set.code) {
    case ("epsg", 3857), ("epsg", 900_913), ("epsg", 3785): projection = .webMercator
    case ("epsg", 4326), ("ogc", _): projection = .geographic
    default: projection = nil
    }
  }

  private static let tablesMax = 1000

  /// Whether the tiles lie on no place on Earth, as flat images do.
  var isUndefinedCartesian: Bool { system == ("NONE", GeoPackageSchema.ReferenceSystem.undefinedCartesian.id) }

  /// Whether the tiles lie in the CRS of a set.
  func isIn(_ projection: TileMatrixSet.Projection) -> Bool {
    guard case .fitted = projection else { return projection == self.projection }
    let own = GeoPackageSchema.ReferenceSystem(of: projection)
    return own.organization.uppercased() == system.organization && own.id == system.code
  }

  private static func matrixSetRow(
    _ connection: SQLiteConnection, _ table: String
  ) throws -> (box: BoundingBox, organization: String, code: Int)? {
    let select = try connection.prepare(
      """
      SELECT min_x, min_y, max_x, max_y, lower(organization), organization_coordsys_id FROM gpkg_tile_matrix_set AS a \
      LEFT JOIN gpkg_spatial_ref_sys AS b ON a.srs_id = b.srs_id WHERE lower(table_name) = lower(?1)
      """)
    select.bind(1, table)
    return try select.first { row in
      let box = BoundingBox(west: row.double(0), south: row.double(1), east: row.double(2), north: row.double(3))
      return (box, row.text(4), row.int(5))
    }
  }

  private static func levels(_ connection: SQLiteConnection, _ table: String) throws -> [GeoPackageGrid.Level] {
    let select = try connection.prepare(
      """
      SELECT zoom_level, matrix_width, matrix_height, tile_width, tile_height, pixel_x_size, pixel_y_size \
      FROM gpkg_tile_matrix WHERE lower(table_name) = lower(?1) ORDER BY zoom_level LIMIT 100
      """)
    select.bind(1, table)
    return try select.all { row in
      GeoPackageGrid.Level(
        zoom: row.int(0), matrixWidth: row.int(1), matrixHeight: row.int(2),
        tileSize: GeoPackageGrid.TileSize(width: row.int(3), height: row.int(4)), pixelX: row.double(5),
        pixelY: row.double(6))
    }
  }
}
