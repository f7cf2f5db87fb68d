/// MBTiles 1.3, "Tiles", "Schema" and "Content".
struct TilesTableRule: BundleRule {
  static let rule = VerificationRule(
    "tiles-table", .must, "tiles have integer zoom_level, tile_column and tile_row and a blob tile_data")
  private let reader: MBTilesReader

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let table = reader.schema.tiles
    let columns = try reader.reading { try BundleSchema.columns(of: table, reader.connection) }
    for (column, words) in [
      ("zoom_level", ["INT"]), ("tile_column", ["INT"]), ("tile_row", ["INT"]), ("tile_data", ["BLOB"]),
    ] {
      // Columns of views often have no declared type.
      guard let type = columns[column]?.uppercased(), !type.isEmpty, !words.contains(where: type.contains) else {
        continue
      }
      findings.warning(
        "the column \(column) of \(table) is declared \(type)",
        remedy: "declare it as \(words[0] == "INT" ? "integer" : "blob")")
    }
  }

  mutating func visit(_ tile: VisitedTile, _ findings: inout Findings) throws {
    guard let row = tile.row else { return }
    if !row.isInteger {
      findings.error(
        "a row's numbers are not integers (\(row.numbers))", remedy: "store them as integers, or delete the row")
    }
    if row.data.isEmpty {
      findings.error(
        "the tile has no bytes", tile: tile.tile, remedy: "delete the row: a tile that is not there needs none")
    } else if !row.isBlob {
      findings.error("the tile's bytes are stored as text", tile: tile.tile, remedy: "store them as a blob")
    }
  }
}
