import CSQLite
import Support

/// The order in which ``BundleWriter`` inserted a bundle's tiles: that of the rows of `map`. The writer orders images
/// by it and by their sizes (``PagePacking``).
struct MapRowOrder: PutOrder {
  private let bundle: MBTilesReader
  private let position: SQLiteStatement

  /// Nil for bundles with another layout, which have no such order, or without its indexes.
  init?(_ bundle: MBTilesReader) {
    guard bundle.layout == .mapAndImages,
      !AddressIndex.scans(
        """
        SELECT tile_data FROM main.map CROSS JOIN main.images USING (tile_id) \
        WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3
        """, bundle.connection),
      // A table WITHOUT ROWID has no rowid.
      let position = try? bundle.connection.prepare(
        "SELECT rowid FROM map WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3")
    else { return nil }
    self.bundle = bundle
    self.position = position
  }

  func position(of tile: TileID) throws -> Int? {
    try bundle.reading {
      position.bind(1, tile.zoom)
      position.bind(2, tile.column)
      position.bind(3, MBTilesRow.flipped(tile.row, matrixHeight: bundle.matrixSet[tile.zoom].matrixHeight))
      defer { position.reset() }
      return try position.step() ? position.int(0) : nil
    }
  }

  func forEachTile(
    at positions: ClosedRange<Int>?, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let condition = positions.map { " WHERE map.rowid BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? ""
    let statement = try bundle.reading {
      // CROSS prevents SQLite from making `images` the outer loop.
      try bundle.connection.prepare(
        """
        SELECT zoom_level, tile_column, tile_row, tile_data FROM map CROSS JOIN images USING (tile_id)\(condition) \
        ORDER BY map.rowid
        """)
    }
    while try bundle.reading({ try statement.step() }) {
      let row = MBTilesReader.StoredKey(
        zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2))
      let bytes = statement.bytes(3)
      if let tile = bundle.tile(at: row), !bytes.isEmpty { try body(tile, bytes) }
    }
  }

  func digest() throws -> String {
    var hash = SHA256Hash()
    let statement = try bundle.reading {
      try bundle.connection.prepare("SELECT rowid, zoom_level, tile_column, tile_row FROM map ORDER BY rowid")
    }
    while try bundle.reading({ try statement.step() }) {
      withUnsafeBytes(
        of: SIMD4(statement.int(0), statement.int(1), statement.int(2), statement.int(3)).littleEndianBytes
      ) { hash.update($0) }
    }
    return Hexadecimal.text(hash.digest())
  }
}

extension SIMD4<Int> {
  fileprivate var littleEndianBytes: SIMD4<Int64> {
    SIMD4<Int64>(Int64(x).littleEndian, Int64(y).littleEndian, Int64(z).littleEndian, Int64(w).littleEndian)
  }
}
