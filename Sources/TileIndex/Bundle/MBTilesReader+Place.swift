/// Where a tile's blob is in the tables of the file, for a server that reads SQLite's pages itself.
package struct BlobRow: Sendable {
  /// The first page of the table.
  package var root: Int
  package var rowid: Int64
  /// Counts from 0, in the order of the table.
  package var column: Int
}

extension MBTilesReader {
  /// The open file, if reads from it can be told not to wait for a disk and none of it changes; to be duplicated, not closed.
  package var descriptor: Int32? { residentFile?.descriptor }

  /// The row with a tile's blob; nil when there is none, or the tiles are in no plain table.
  ///
  /// - Complexity: O(log tiles).
  package func blobRow(of tile: TileID) -> BlobRow? {
    guard let finder = blobFinder else { return nil }
    bind(tile, to: finder.rowid)
    defer { finder.rowid.reset() }
    guard (try? finder.rowid.step()) == true else { return nil }
    return BlobRow(root: finder.root, rowid: Int64(finder.rowid.int(0)), column: finder.column)
  }

  /// Fills a buffer from a place of the file; false when the file is shorter or cannot be read, and within ``withResidentTile(_:_:)`` when that would wait.
  package func readFile(_ room: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool {
    residentFile?.read(room, offset) ?? false
  }

  /// What it takes to find a blob's row: made when it is first needed.
  struct BlobFinder {
    let rowid: SQLiteStatement
    let root: Int
    let column: Int

    /// Nil when the tiles are in no plain table.
    init?(_ reader: MBTilesReader) {
      let place = "zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
      let (table, sql) =
        switch reader.schema.layout {
        case .flat:
          (reader.schema.tiles, "SELECT rowid FROM \(reader.schema.tiles) WHERE \(place)")
        case .mapAndImages:
          ("images", "SELECT images.rowid FROM map JOIN images ON images.tile_id = map.tile_id WHERE \(place)")
        case .view:
          ("", "")
        }
      guard !table.isEmpty,
        let root = try? reader.connection.prepare(
          "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND lower(name) = '\(table)'"),
        (try? root.step()) == true, let rowid = try? reader.connection.prepare(sql),
        let columns = try? reader.connection.prepare(
          "SELECT cid FROM pragma_table_xinfo('\(table)') WHERE lower(name) = 'tile_data' AND hidden = 0"),
        (try? columns.step()) == true
      else { return nil }
      self.rowid = rowid
      self.root = root.int(0)
      column = columns.int(0)
    }
  }
}
