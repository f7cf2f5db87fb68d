import CSQLite
import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex
@testable import TileServe

/// The places of tiles in the file, found by reading SQLite's pages.
@Suite(.ownThread, .enabled(if: ResidentFileSystem.isAvailable, "needs a system that can tell what is in memory"))
struct TilePlaceTests {
  /// Pages of every size, blobs within one page and over many pages, layouts of this and of other tools.
  @Test(arguments: [512, 1024, 4096, 16384, 65536], ["flat", "pair", "text ids", "columns before"])
  func piecesAreTheBytesOfTheTile(pageSize: Int, layout: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    var random = SeededGenerator(seed: UInt64(pageSize))
    var expected: [TileID: [UInt8]] = [:]
    try Self.write(path, pageSize: pageSize, layout: layout) { insert in
      for column in 0..<8 {
        for row in 0..<8 {
          let count = [1, 40, 470, 480, 2000, 4061, 4062, 20_000, 70_000].randomElement(using: &random)! + row
          let start = UInt8.random(in: 0...255, using: &random)
          let bytes = (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
          try insert(3, column, row, bytes)
          expected[tile(3, column, 7 - row)] = bytes
        }
      }
    }
    let reader = try MBTilesReader(path: path)
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    var pieceCounts: Set<Int> = []
    for (tile, bytes) in expected {
      let pieces = try #require(
        try reader.withTile(tile) { reader.pieces(of: tile, matching: $0) } ?? nil, "\(tile), \(bytes.count) bytes")
      var found: [UInt8] = []
      for piece in pieces {
        try file.seek(toOffset: UInt64(piece.offset))
        found += try #require(try file.read(upToCount: piece.count))
      }
      #expect(found == bytes)
      pieceCounts.insert(pieces.count)
    }
    #expect(pieceCounts.count > 1)
  }

  /// The bytes at the place are compared with the tile.
  @Test func otherBytesHaveNoPlace() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    let bytes = [UInt8](repeating: 7, count: 30_000)
    try Self.write(path, pageSize: 4096, layout: "pair") { try $0(0, 0, 0, bytes) }
    let reader = try MBTilesReader(path: path)
    for wrong in [bytes.dropLast(), bytes + [7], [8] + bytes.dropFirst(), bytes.dropLast() + [8]] {
      #expect(Array(wrong).withUnsafeBytes { reader.pieces(of: tile(0, 0, 0), matching: $0) } == nil)
    }
    #expect(bytes.withUnsafeBytes { reader.pieces(of: tile(1, 0, 0), matching: $0) } == nil)
    #expect(bytes.withUnsafeBytes { reader.pieces(of: tile(0, 0, 0), matching: $0) } != nil)
  }

  /// Overwritten pages give no place or the right one, and never crash.
  @Test func damagedPagesGiveNoWrongPlace() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    var random = SeededGenerator(seed: 3)
    let bytes = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) }
    try Self.write(path, pageSize: 1024, layout: "flat") { insert in
      for column in 0..<64 { try insert(6, column, 0, bytes) }
    }
    let whole = try folder.bytes("a.mbtiles")
    for _ in 0..<300 {
      var damaged = [UInt8](whole)
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        damaged[Int.random(in: 16..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let pages = SQLiteBlobLocator { room, offset in
        guard offset >= 0, Int(offset) + room.count <= damaged.count else { return false }
        room.copyBytes(from: damaged[Int(offset)..<(Int(offset) + room.count)])
        return true
      }
      for root in [1, 2, 3, 5] {
        for rowid in [1, 30, 64] {
          _ = pages?.pieces(root: root, rowid: Int64(rowid), column: 3, byteCount: bytes.count)
        }
      }
    }
  }

  @Test func tablesWithoutRowidsHaveNoPlaces() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    let bytes = [UInt8](repeating: 7, count: 30_000)
    try Self.write(path, pageSize: 4096, layout: "no rowids") { try $0(0, 0, 0, bytes) }
    let reader = try MBTilesReader(path: path)
    #expect(try reader.tile(tile(0, 0, 0)) == bytes)
    #expect(bytes.withUnsafeBytes { reader.pieces(of: tile(0, 0, 0), matching: $0) } == nil)
  }

  private func tile(_ zoom: Int, _ column: Int, _ row: Int) -> TileID { TileID(unchecked: zoom, column, row) }

  /// Writes a bundle with SQLite alone.
  private static func write(
    _ path: String, pageSize: Int, layout: String, _ body: ((Int, Int, Int, [UInt8]) throws -> Void) throws -> Void
  ) throws {
    let connection = try SQLiteConnection(uri: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    try connection.execute("PRAGMA page_size = \(pageSize)")
    let place = "zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER"
    let key = "zoom_level, tile_column, tile_row"
    switch layout {
    case "flat":
      try connection.execute("CREATE TABLE tiles (\(place), tile_data BLOB); CREATE UNIQUE INDEX i ON tiles (\(key))")
    case "columns before":
      try connection.execute(
        """
        CREATE TABLE tiles (
          note TEXT DEFAULT 'a longer note than most', weight REAL DEFAULT 1.5, tile_data BLOB, \(place));
        CREATE UNIQUE INDEX i ON tiles (\(key))
        """)
    case "no rowids":
      try connection.execute("CREATE TABLE tiles (\(place), tile_data BLOB, PRIMARY KEY (\(key))) WITHOUT ROWID")
    default:
      let type = layout == "pair" ? "INTEGER PRIMARY KEY" : "TEXT UNIQUE"
      try connection.execute(
        """
        CREATE TABLE map (\(place), tile_id); CREATE TABLE images (tile_id \(type), tile_data BLOB);
        CREATE UNIQUE INDEX i ON map (\(key));
        CREATE VIEW tiles AS SELECT \(key), tile_data FROM map JOIN images USING (tile_id)
        """)
    }
    try connection.execute("BEGIN")
    var count = 0
    try body { zoom, column, row, bytes in
      count += 1
      let isPair = layout == "pair" || layout == "text ids"
      let id = layout == "pair" ? "\(count * 3)" : "'id-\(count * 7919)'"
      if isPair { try connection.execute("INSERT INTO map VALUES (\(zoom), \(column), \(row), \(id))") }
      let insert = try connection.prepare(
        isPair
          ? "INSERT INTO images VALUES (\(id), ?1)"
          : "INSERT INTO tiles (\(key), tile_data) VALUES (\(zoom), \(column), \(row), ?1)")
      insert.bind(1, bytes)
      try insert.run()
    }
    try connection.execute("COMMIT")
  }
}
