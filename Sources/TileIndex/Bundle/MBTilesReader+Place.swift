/// Where a tile's bytes lie in its file.
public struct TilePlace: Sendable {
  /// In their order; together they are the tile.
  package var pieces: [FilePiece]
}

/// Where tiles lie in the file.
extension MBTilesReader {
  public var descriptor: Int32? { residentFile?.descriptor }

  /// Where a tile lies; nil when that cannot be told, or not without waiting for a disk.
  ///
  /// - Parameter bytes: the tile. What lies at the place is compared with it: a mistake about the file's format costs speed, never a wrong tile.
  /// - Complexity: O(log tiles + bytes).
  public func place(of tile: TileID, matching bytes: UnsafeRawBufferPointer) -> TilePlace? {
    guard let residentFile, let finder = blobFinder else { return nil }
    bind(tile, to: finder.rowid)
    defer { finder.rowid.reset() }
    guard (try? finder.rowid.step()) == true, let pages = TablePages(residentFile.read),
      let pieces = pages.pieces(
        root: finder.root, rowid: Int64(finder.rowid.int(0)), column: finder.column, byteCount: bytes.count)
    else { return nil }
    var done = 0
    for piece in pieces {
      guard done + piece.count <= bytes.count else { return nil }
      let isSame = withUnsafeTemporaryAllocation(byteCount: piece.count, alignment: 16) { room in
        residentFile.read(room, piece.offset)
          && room.elementsEqual(UnsafeRawBufferPointer(rebasing: bytes[done..<(done + piece.count)]))
      }
      guard isSame else { return nil }
      done += piece.count
    }
    return done == bytes.count ? TilePlace(pieces: pieces) : nil
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
