import Support

/// MBTiles 1.3, "Tiles", "Schema" and "Content".
struct TilesTableRule: BundleRule {
  static let rule = VerificationRule(
    "tiles-table", .must, "tiles have integer zoom_level, tile_column and tile_row and a blob tile_data")
  private let reader: MBTilesReader

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    let table = reader.schema.stored
    let columns = try reader.reading { try reader.connection.columns(of: table) }
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

/// In a bundle whose tiles share blobs, every tile has a blob and every blob a tile.
struct OrphanRule: BundleRule {
  static let rule = VerificationRule("orphans", .practice, "every tile has its image and every image a tile")
  private let reader: MBTilesReader

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    guard reader.layout == .mapAndImages else { return }
    try reader.reading {
      let unused = try reader.connection.prepare(
        "SELECT tile_id FROM images WHERE tile_id NOT IN (SELECT tile_id FROM map WHERE tile_id IS NOT NULL)")
      while try unused.step() {
        findings.warning(
          "the image \(unused.optionalText(0) ?? "NULL") belongs to no tile",
          remedy: "delete it: DELETE FROM images WHERE tile_id NOT IN (SELECT tile_id FROM map)")
      }
      let missing = try reader.connection.prepare(
        """
        SELECT zoom_level, tile_column, tile_row, map.tile_id FROM map \
        LEFT JOIN images ON images.tile_id = map.tile_id WHERE images.tile_id IS NULL
        """)
      while try missing.step() {
        let place = MBTilesReader.StoredKey(zoom: missing.int(0), column: missing.int(1), storedRow: missing.int(2))
        guard let image = missing.optionalText(3) else {
          // Written by tools for tiles that they leave out; readers find no tile there.
          findings.warning("its image is NULL", tile: reader.tile(at: place), remedy: "delete its row in map")
          continue
        }
        findings.error(
          "its image \(image) is missing", tile: reader.tile(at: place),
          remedy: "make the tile again, or delete its row in map")
      }
    }
  }
}
