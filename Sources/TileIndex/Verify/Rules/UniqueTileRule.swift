import Support

/// MBTiles 1.3, "Tiles": the unique index is a SHOULD; that no tile occurs twice is implied.
struct UniqueTileRule: BundleRule {
  static let rule = VerificationRule("unique-tiles", .must, "no tile is there twice, by a unique index")
  private let reader: MBTilesReader
  private var previous: (zoom: Int, column: Int, row: Int)?

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let schema = reader.schema
    // The tables behind another view are unknown.
    guard schema.layout != .view, try !hasUniqueIndex(schema.keys) else { return }
    findings.warning(
      "\(schema.keys) has no unique index on zoom_level, tile_column and tile_row, so every read looks at every tile",
      remedy: "add it: CREATE UNIQUE INDEX tile_index ON \(schema.keys) (zoom_level, tile_column, tile_row)")
  }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard let row = tile.row else { return }
    let place = (zoom: row.zoom, column: row.column, row: row.storedRow)
    defer { previous = place }
    guard row.isInteger, let previous, previous == place else { return }
    findings.error("the tile is there twice (\(row.numbers))", tile: tile.tile, remedy: "delete one of the rows")
  }

  private func hasUniqueIndex(_ table: String) throws -> Bool {
    try reader.reading {
      let connection = reader.connection
      let indexes = try connection.prepare(
        "SELECT name FROM pragma_index_list('\(table)') WHERE \"unique\" AND NOT partial")
      let columns = try connection.prepare("SELECT lower(name) FROM pragma_index_info(?1)")
      while try indexes.step() {
        columns.bind(1, indexes.text(0))
        var names = Set<String>()
        while try columns.step() { names.insert(columns.text(0)) }
        columns.reset()
        if names == ["zoom_level", "tile_column", "tile_row"] { return true }
      }
      return false
    }
  }
}

/// MBTiles 1.3, "Tiles": addresses lie in the grid, with TMS rows from the south.
struct TileRangeRule: BundleRule {
  static let rule = VerificationRule(
    "tile-range", .must, "every tile lies in its grid: 0 <= column, row < 2^zoom in Web Mercator")
  private let matrixSet: TileMatrixSet

  init(_ reader: MBTilesReader) { matrixSet = reader.matrixSet }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard tile.tile == nil, let row = tile.row, row.isInteger else { return }
    findings.error(
      "\(row.numbers) lies outside \(matrixSet.identifier)", remedy: "delete the row, no reader can show it")
  }
}
