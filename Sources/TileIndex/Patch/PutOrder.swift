import CSQLite
import Crypto
import Support

/// The order in which a bundle of ours got its tiles: a patch that keeps it leads to the same file, byte for byte.
///
/// In `map` rows lie in the order in which they were put, and images in the order of the first tile that has them.
struct PutOrder {
  private let bundle: MBTilesReader
  private let position: SQLiteStatement

  /// Nil for bundles whose tiles are kept in another way, which have no such order.
  init?(_ bundle: any BundleReader) {
    guard let bundle = bundle as? MBTilesReader, bundle.layout == .mapAndImages,
      // A table WITHOUT ROWID has none to ask for.
      let position = try? bundle.connection.prepare(
        "SELECT rowid FROM map WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3")
    else { return nil }
    self.bundle = bundle
    self.position = position
  }

  /// The place of a tile in the order, not necessarily without gaps; nil when there is no such tile.
  func position(of tile: TileID) throws -> Int? {
    try bundle.reading {
      position.bind(tile.zoom, at: 1)
      position.bind(tile.column, at: 2)
      position.bind(MBTilesRow.flipped(tile.row, matrixHeight: bundle.matrixSet[tile.zoom].matrixHeight), at: 3)
      defer { position.reset() }
      return try position.step() ? position.int(0) : nil
    }
  }

  /// Hands tiles to a closure in the order in which they were put, all of them or those of some places. Rows that are no tiles are left out.
  func forEachTile(
    at positions: ClosedRange<Int>? = nil, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let condition = positions.map { " WHERE map.rowid BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? ""
    let statement = try bundle.reading {
      // CROSS keeps SQLite from walking through the images instead.
      try bundle.connection.prepare(
        """
        SELECT zoom_level, tile_column, tile_row, tile_data FROM map CROSS JOIN images USING (tile_id)\(condition) \
        ORDER BY map.rowid
        """)
    }
    while try bundle.reading({ try statement.step() }) {
      let row = MBTilesReader.Place(
        zoom: statement.int(0), column: statement.int(1), storedRow: statement.int(2))
      let bytes = statement.bytes(3)
      if let tile = bundle.tile(at: row), !bytes.isEmpty { try body(tile, bytes) }
    }
  }

  /// A hash over which tile lies where, without the tiles' bytes.
  ///
  /// - Complexity: O(tiles).
  func digest() throws -> String {
    var hash = SHA256()
    let statement = try bundle.reading {
      try bundle.connection.prepare("SELECT rowid, zoom_level, tile_column, tile_row FROM map ORDER BY rowid")
    }
    while try bundle.reading({ try statement.step() }) {
      withUnsafeBytes(
        of: SIMD4(statement.int(0), statement.int(1), statement.int(2), statement.int(3)).littleEndianBytes
      ) { hash.update(bufferPointer: $0) }
    }
    return Hexadecimal.text(hash.finalize())
  }
}

extension SIMD4<Int> {
  fileprivate var littleEndianBytes: SIMD4<Int64> {
    SIMD4<Int64>(Int64(x).littleEndian, Int64(y).littleEndian, Int64(z).littleEndian, Int64(w).littleEndian)
  }
}
