import CSQLite
import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Tables and indices that are appended to a database past SQLite, read by SQLite.
@Suite(.ownThread) struct AppendedTableTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private struct Row {
    let key: (zoom: Int, column: UInt32)
    let bytes: [UInt8]
  }

  private static let table =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, z INTEGER, a INTEGER, b INTEGER, data BLOB, UNIQUE (z, a, b))"

  private func connection(_ name: String) throws -> SQLiteConnection {
    try SQLiteConnection(
      uri: SQLiteConnection.uri(path: folder.file(name), parameters: []),
      flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
  }

  /// Writes rows and returns the table, which is closed.
  @discardableResult
  private func append(_ name: String, pageBytes: Int, reservedBytes: Int32 = 0, _ rows: [Row]) throws -> [Int] {
    let path = try folder.write(name, bytes: [])
    if reservedBytes > 0 {
      let empty = try connection(name)
      var reserved = reservedBytes
      #expect(sqlite3_file_control(empty.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) == SQLITE_OK)
      try empty.execute("PRAGMA page_size = \(pageBytes); CREATE TABLE x (a); DROP TABLE x")
    }
    let database = try AppendedDatabase(
      path, target: path, pageBytes: pageBytes, tables: ["t": true], addressTable: "t"
    ) {
      try $0.execute(Self.table)
    }
    let table = database.table("t")
    var places: [Int] = []
    for row in rows {
      try row.bytes.withUnsafeBytes {
        places.append(try table.append([UInt32(row.key.zoom), row.key.column, 7], $0))
      }
      try database.noteAddress(zoom: row.key.zoom, column: Int(row.key.column), row: 7)
    }
    try database.finish(putTwice: { _ in SQLiteError(code: 0, message: "twice", systemError: 0) }).execute("COMMIT")
    return places
  }

  /// From an empty table to three levels above the leaves, with keys at the limits of the integers' sizes. Some builds
  /// of SQLite, those of Apple among them, reserve bytes on each page.
  @Test(
    arguments: [
      (512, 0, 0), (512, 0, 1), (512, 0, 2), (512, 0, 46), (512, 0, 47), (512, 0, 48), (512, 0, 94), (512, 0, 4600),
      (4096, 0, 3000), (65536, 0, 3000), (512, 12, 4600), (4096, 12, 3000), (65536, 12, 3000),
    ])
  func rowsAreThoseThatSQLiteWouldHave(pageBytes: Int, reservedBytes: Int32, count: Int) throws {
    var random = SeededGenerator(seed: UInt64(pageBytes * 10_000 + count))
    let limits: [UInt32] = [0, 1, 2, 0x7f, 0x80, 0x7fff, 0x8000, 0x7f_ffff, 0x80_0000, 0x7fff_ffff, 0x8000_0000, .max]
    let rows = (0..<count).map { index in
      let size =
        count > 100
        ? Int.random(in: 0...(index % 50 == 0 ? 20_000 : 400), using: &random)
        // One leaf for each row.
        : 400
      return Row(
        key: (index % 31, index < limits.count ? limits[index] : UInt32(index) &* 2_654_435_761),
        bytes: [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size))
    }
    try append("a", pageBytes: pageBytes, reservedBytes: reservedBytes, rows)
    let plain = try connection("b")
    try plain.execute("\(Self.table); BEGIN")
    let insert = try plain.prepare("INSERT INTO t VALUES (?1, ?2, ?3, 7, ?4)")
    for (index, row) in rows.enumerated() {
      insert.bind(1, index + 1)
      insert.bind(2, row.key.zoom)
      insert.bind(3, Int(row.key.column))
      row.bytes.withUnsafeBytes { insert.bind(4, $0) }
      try insert.run()
    }
    try plain.execute("COMMIT")

    let appended = try connection("a")
    var reserved: Int32 = -1
    #expect(sqlite3_file_control(appended.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) == SQLITE_OK)
    #expect(reserved == reservedBytes)
    #expect(try appended.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
    func all(_ database: SQLiteConnection, _ order: String) throws -> [String] {
      try database.prepare("SELECT id || ' ' || z || ' ' || a || ' ' || b || ' ' || hex(data) FROM t \(order)")
        .all { $0.text(0) }
    }
    for order in ["NOT INDEXED", "INDEXED BY sqlite_autoindex_t_1 ORDER BY z, a, b"] {
      #expect(try all(appended, order) == all(plain, order), "\(order)")
    }
    // The database can be changed like any other.
    try appended.execute("DELETE FROM t WHERE id % 3 = 0")
    try appended.execute("INSERT INTO t (z, a, b, data) VALUES (-1, -1, -1, zeroblob(5000))")
    try appended.execute("VACUUM")
    #expect(try appended.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
  }

  /// SQLite never uses the page in which systems lock files, a gigabyte into the file.
  @Test(.long, arguments: [4096, 16384]) func thePageOfLocksIsLeftOut(pageBytes: Int) throws {
    let bytes = [UInt8](repeating: 7, count: 90 << 20)
    try append("a", pageBytes: pageBytes, (0..<12).map { Row(key: (0, $0), bytes: bytes) })
    #expect(FileSystem.size(folder.file("a")) > 1 << 30)
    let database = try connection("a")
    #expect(try database.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
    let sizes = try database.prepare("SELECT a, length(data) FROM t ORDER BY a").all { [$0.int(0), $0.int(1)] }
    #expect(sizes == (0..<12).map { [$0, bytes.count] })
  }

  /// Rows are found by their bytes while the table grows: on the first leaf and others, with and without overflow
  /// pages.
  @Test(arguments: [512, 4096, 65536]) func rowsAreFoundWhileTheTableGrows(pageBytes: Int) throws {
    let path = try folder.write("a", bytes: [])
    let database = try AppendedDatabase(
      path, target: path, pageBytes: pageBytes, tables: ["t": true, "map": false], addressTable: "map"
    ) {
      try $0.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
      try $0.execute("CREATE TABLE map (z, a, b, id); CREATE UNIQUE INDEX m ON map (z, a, b)")
    }
    let (table, map) = (database.table("t"), database.table("map"))
    var random = SeededGenerator(seed: 3)
    var places: [Int] = []
    func blob(_ number: Int) -> [UInt8] {
      // Many begin alike and differ at their ends.
      [UInt8](repeating: 1, count: [3, 100, 700, 5000, 70_000][number % 5]) + Array("\(number)".utf8)
    }
    func isFound(_ number: Int, at place: Int) throws -> Bool {
      try blob(number).withUnsafeBytes { try table.row(on: place, with: $0) } == UInt32(number + 1)
    }
    for number in 0..<500 {
      places.append(try blob(number).withUnsafeBytes { try table.append([], $0) })
      try map.append([5, UInt32(number), 3, UInt32(number + 1)])
      try database.noteAddress(zoom: 5, column: number, row: 3)
      for known in [0, number, Int.random(in: 0...number, using: &random)] {
        #expect(try isFound(known, at: places[known]), "\(known) of \(number)")
      }
      #expect(try !isFound(number + 5, at: places[number]))
    }
    #expect(Set(places).count > 3)
    let connection = try database.finish(putTwice: { _ in SQLiteError(code: 0, message: "twice", systemError: 0) })
    try connection.execute("COMMIT")
    #expect(try connection.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
    let select = try connection.prepare("SELECT data FROM map JOIN t USING (id) WHERE z = 5 AND b = 3 ORDER BY a")
    let stored = try select.all { Array($0.bytes(0)) }
    #expect(stored == (0..<500).map(blob))
  }
}
