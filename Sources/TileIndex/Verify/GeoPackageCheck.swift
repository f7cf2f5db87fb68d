import Support

/// GeoPackage 1.3 (OGC 12-128r18), as far as a table of raster tiles goes.
struct GeoPackageCheck: ContainerCheck {
  let reader: GeoPackageReader
  let bundle: VerifiedBundle

  static var list: [ContainerRule<Self>] {
    [
      .init { DatabaseRule($0.reader) },
      .init { GeoPackageTablesRule(reader: $0.reader) },
      .init { TileMatrixRule(reader: $0.reader) },
      .init { GeoPackageTileRule(reader: $0.reader) },
      .init { ExtensionRule(reader: $0.reader) },
      .init { BlobFormatRule($0.bundle) },
      .init { DecodeRule($0.bundle) },
      .init { TilesHashRule($0.reader) },
      .init { ZoomRule($0.bundle) },
      .init { BoundsRule($0.bundle) },
      .init { DescriptiveMetadataRule($0.bundle) },
      .init { SideFileRule($0.reader) },
    ]
  }

  init(_ reader: GeoPackageReader, decode: @escaping TileDecodeCheck) {
    self.reader = reader
    bundle = VerifiedBundle(reader, .geopackage, decode: decode)
  }
}

/// Requirements 2, 4 and 10 to 12: the file's ids and the tables that every GeoPackage has.
private struct GeoPackageTablesRule: BundleRule {
  static let rule = VerificationRule(
    "geopackage", .must, "application_id is GPKG, and contents and reference systems are listed as required")
  let reader: GeoPackageReader

  mutating func begin(_ findings: inout Findings) throws {
    let id = try reader.pragma("application_id")
    if id != GeoPackageSchema.applicationID {
      findings.warning(
        "application_id is that of GeoPackage 1.0 or 1.1",
        remedy: "PRAGMA application_id = \(GeoPackageSchema.applicationID)")
    } else if try reader.pragma("user_version") < 10200 {
      findings.warning("user_version is no version of GeoPackage", remedy: "PRAGMA user_version = 10300")
    }
    let connection = reader.connection
    try reader.reading {
      let systems = try connection.prepare("SELECT srs_id FROM gpkg_spatial_ref_sys").all { $0.int(0) }
      for system in [-1, 0, 4326] where !systems.contains(system) {
        findings.error("gpkg_spatial_ref_sys has no row for \(system)", remedy: "add it, every GeoPackage needs it")
      }
      let broken = try connection.prepare("PRAGMA foreign_key_check").all { $0.text(0) }
      for table in Set(broken).sorted() {
        findings.error("rows of \(table) refer to rows that are not there", remedy: "make the GeoPackage again")
      }
    }
    if reader.contents.extent == nil {
      findings.warning("gpkg_contents has no extent of \(reader.table)", remedy: "set it to what the tiles cover")
    }
    if reader.tables.count > 1 {
      findings.warning(
        "\(reader.tables.count) tables have tiles, and only \(reader.table) is checked",
        remedy: "name another: \(reader.tables.dropFirst().map { "GPKG:\(reader.path):\($0)" }.joined(separator: ", "))"
      )
    }
  }
}

/// Requirements 35 to 53: the levels fill one box.
private struct TileMatrixRule: BundleRule {
  static let rule = VerificationRule(
    "tile-matrix", .must, "every level with tiles has a tile matrix, and all of them fill the box of their set")
  let reader: GeoPackageReader

  mutating func begin(_ findings: inout Findings) throws {
    let grid = reader.contents.grid
    for level in grid.levels {
      func differs(_ count: Int, _ pixels: Int, _ size: Double, _ extent: Double) -> Bool {
        abs(Double(count) * Double(pixels) * size - extent) > 1e-6 * extent
      }
      if differs(level.matrixWidth, level.tileSize.width, level.pixelX, grid.box.width)
        || differs(level.matrixHeight, level.tileSize.height, level.pixelY, grid.box.height)
      {
        findings.error(
          "the matrix of zoom \(level.zoom) does not fill the box of gpkg_tile_matrix_set",
          remedy: "correct its size in tiles, pixels or units")
      }
    }
  }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    let known = Set(reader.contents.grid.levels.map(\.zoom))
    for zoom in coverage.levels.keys.sorted() where !known.contains(zoom) {
      findings.error("zoom \(zoom) has tiles, but no row in gpkg_tile_matrix", remedy: "add its row")
    }
  }
}

/// Requirements 54 to 57: where tiles may lie.
private struct GeoPackageTileRule: BundleRule {
  static let rule = VerificationRule(
    "tile-range", .must, "every tile lies in the matrix of its zoom, once, and has bytes")
  let reader: GeoPackageReader
  private var sizes: [Int: GeoPackageGrid.TileSize] = [:]
  private var misfits: Set<Int> = []

  init(reader: GeoPackageReader) {
    self.reader = reader
    for level in reader.contents.grid.levels { sizes[level.zoom] = level.tileSize }
  }

  mutating func begin(_ findings: inout Findings) throws {
    let table = reader.quotedTable
    let set = reader.matrixSet
    let inside = set.zooms.map { zoom in
      "zoom_level = \(zoom) AND tile_column BETWEEN 0 AND \(set[zoom].matrixWidth - 1) "
        + "AND tile_row BETWEEN 0 AND \(set[zoom].matrixHeight - 1)"
    }
    try reader.reading {
      let outside = try reader.connection.prepare(
        """
        SELECT zoom_level, tile_column, tile_row FROM \(table) WHERE NOT (\(inside.joined(separator: " OR "))) \
        OR typeof(zoom_level) <> 'integer' OR typeof(tile_column) <> 'integer' OR typeof(tile_row) <> 'integer'
        """)
      while try outside.step() {
        findings.error(
          "zoom_level \(outside.text(0)), tile_column \(outside.text(1)), tile_row \(outside.text(2)) lies outside "
            + set.identifier, remedy: "delete the row, no reader can show it")
      }
      let twice = try reader.connection.prepare(
        """
        SELECT zoom_level, tile_column, tile_row FROM \(table) GROUP BY zoom_level, tile_column, tile_row \
        HAVING count(*) > 1
        """)
      while try twice.step() {
        findings.error(
          "the tile is there twice", tile: TileID(unchecked: twice.int(0), twice.int(1), twice.int(2)),
          remedy: "delete one of the rows")
      }
      let empty = try reader.connection.prepare(
        "SELECT count(*) FROM \(table) WHERE tile_data IS NULL OR typeof(tile_data) <> 'blob' OR length(tile_data) = 0"
      ).first { $0.int(0) }
      if let empty, empty > 0 {
        findings.error("\(empty) rows have no bytes", remedy: "delete them: a tile that is not there needs none")
      }
    }
  }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard let id = tile.tile, let size = sizes[id.zoom], !misfits.contains(id.zoom),
      let header = ImageHeader(tile.data),
      header.width != size.width || header.height != size.height
    else { return }
    misfits.insert(id.zoom)
    findings.error(
      "the tile is \(header.width) x \(header.height) pixels, gpkg_tile_matrix says \(size.width) x \(size.height)",
      tile: id, remedy: "make all tiles in one size, and state it")
  }
}

/// Section 2.3: what readers must know beyond the core is registered.
private struct ExtensionRule: BundleRule {
  static let rule = VerificationRule(
    "extensions", .must, "WebP tiles and levels that do not step by 2 are registered in gpkg_extensions")
  let reader: GeoPackageReader
  private var hasWebP = false

  init(reader: GeoPackageReader) { self.reader = reader }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    if tile.format == .webp { hasWebP = true }
  }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    let names = try reader.reading { () -> [String] in
      guard try reader.connection.columns(of: "gpkg_extensions")["extension_name"] != nil else {
        return []
      }
      let select = try reader.connection.prepare(
        "SELECT extension_name FROM gpkg_extensions WHERE table_name IS NULL OR lower(table_name) = lower(?1)")
      select.bind(1, reader.table)
      return try select.all { $0.text(0) }
    }
    for (isUsed, name, what) in [
      (hasWebP, GeoPackageSchema.webp.name, "tiles are WebP"),
      (!reader.contents.grid.doubles, GeoPackageSchema.otherZooms.name, "levels do not step by 2"),
    ] where isUsed && !names.contains(name) {
      findings.error("\(what), but \(name) is not in gpkg_extensions", remedy: "add its row, as readers look for it")
    }
  }
}
