import Support

/// The table of a bundle that has a hash of each image (``ContentHash``), so that damaged ones are found one by one.
///
/// Bundles have it if their maker was asked for it. An image that another program added has no row.
enum TileHashes {
  static let table = "image_hashes"
  static let statement = "CREATE TABLE image_hashes (tile_id INTEGER PRIMARY KEY, hash BLOB)"

  /// A hash as the table has it: eight bytes, the highest first.
  static func withBytes<Result>(
    of hash: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeBytes(of: hash.bigEndian, body)
  }

  /// False for a table of this name that is none of ours.
  static func isIn(_ connection: SQLiteConnection) throws -> Bool {
    let columns = try connection.columns(of: table)
    return columns["tile_id"] != nil && columns["hash"] != nil
  }

  /// Selects the hash of a tile by its zoom, column and stored row.
  static func lookup(_ connection: SQLiteConnection) throws -> SQLiteStatement {
    try connection.prepare(
      """
      SELECT hash FROM map JOIN \(table) ON \(table).tile_id = map.tile_id \
      WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3
      """)
  }

  /// The hash in the first row of ``lookup(_:)``; nil without one of eight bytes.
  static func hash(_ lookup: SQLiteStatement) throws -> UInt64? {
    guard try lookup.step() else { return nil }
    let bytes = lookup.bytes(0)
    return bytes.count == 8 ? UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) : nil
  }
}
