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
    let key: (UInt32, UInt32)
    let bytes: [UInt8]
  }

  private func connection(_ name: String) throws -> SQLiteConnection {
    try SQLiteConnection(
      uri: SQLiteConnection.uri(path: folder.file(name), parameters: []),
      flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
  }

  /// An empty table, and the root pages of table and index.
  private func create(_ name: String, pageBytes: Int) throws -> (table: Int, index: Int) {
    let database = try connection(name)
    try database.execute("PRAGMA page_size = \(pageBytes)")
    try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, data BLOB, UNIQUE (a, b))")
    let roots = try database.prepare("SELECT rootpage FROM sqlite_master ORDER BY type = 'index'").all { $0.int(0) }
    try database.close()
    return (roots[0], roots[1])
  }

  private func append(_ name: String, pageBytes: Int, _ rows: [Row]) throws {
    let roots = try create(name, pageBytes: pageBytes)
    let pages = try AppendedPages(folder.file(name), pageBytes: pageBytes)
    let table = AppendedTable(pages, root: roots.table)
    for row in rows { try row.bytes.withUnsafeBytes { try table.append([row.key.0, row.key.1], $0) } }
    try table.finish()
    let order = rows.indices.sorted { rows[$0].key < rows[$1].key }
    func record(_ row: Int, _ bytes: inout [UInt8]) {
      SQLiteRecord.append([rows[row].key.0, rows[row].key.1, UInt32(row + 1)], to: &bytes)
    }
    let largest = order.map { row in
      var bytes: [UInt8] = []
      record(row, &bytes)
      return bytes.count
    }.max()
    try AppendedIndex(pages: pages, root: roots.index).write(count: rows.count, entryBytesMax: largest ?? 0) {
      record(order[$0], &$1)
    }
    try pages.finish()
  }

  /// From an empty table to three levels above the leaves, with keys at the limits of the integers' sizes.
  @Test(
    arguments: [
      (512, 0), (512, 1), (512, 2), (512, 46), (512, 47), (512, 48), (512, 94), (512, 4600), (4096, 3000),
      (65536, 3000),
    ])
  func rowsAreThoseThatSQLiteWouldHave(pageBytes: Int, count: Int) throws {
    var random = SeededGenerator(seed: UInt64(pageBytes * 10_000 + count))
    let limits: [UInt32] = [0, 1, 2, 0x7f, 0x80, 0x7fff, 0x8000, 0x7f_ffff, 0x80_0000, 0x7fff_ffff, 0x8000_0000, .max]
    let rows = (0..<count).map { index in
      let size =
        count > 100
        ? Int.random(in: 0...(index % 50 == 0 ? 20_000 : 400), using: &random)
        // One leaf for each row.
        : 400
      let first = index < limits.count ? limits[index] : UInt32.random(in: 0...300, using: &random)
      return Row(
        key: (first, UInt32(index) &* 2_654_435_761),
        bytes: [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size))
    }
    try append("a", pageBytes: pageBytes, rows)
    let plain = try connection("b")
    try plain.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, data BLOB, UNIQUE (a, b)); BEGIN")
    let insert = try plain.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4)")
    for (index, row) in rows.enumerated() {
      insert.bind(1, index + 1)
      insert.bind(2, Int(row.key.0))
      insert.bind(3, Int(row.key.1))
      row.bytes.withUnsafeBytes { insert.bind(4, $0) }
      try insert.run()
    }
    try plain.execute("COMMIT")

    let appended = try connection("a")
    #expect(try appended.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
    func all(_ database: SQLiteConnection, _ order: String) throws -> [String] {
      try database.prepare("SELECT id || ' ' || a || ' ' || b || ' ' || hex(data) FROM t \(order)").all { $0.text(0) }
    }
    for order in ["NOT INDEXED", "INDEXED BY sqlite_autoindex_t_1 ORDER BY a, b"] {
      #expect(try all(appended, order) == all(plain, order), "\(order)")
    }
    // The database can be changed like any other.
    try appended.execute("DELETE FROM t WHERE id % 3 = 0; INSERT INTO t (a, b, data) VALUES (-1, -1, zeroblob(5000))")
    try appended.execute("VACUUM")
    #expect(try appended.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
  }

  /// SQLite never uses the page in which systems lock files, a gigabyte into the file.
  @Test(.long) func thePageOfLocksIsLeftOut() throws {
    let bytes = [UInt8](repeating: 7, count: 90 << 20)
    try append("a", pageBytes: 4096, (0..<12).map { Row(key: ($0, 0), bytes: bytes) })
    #expect(FileSystem.size(folder.file("a")) > 1 << 30)
    let database = try connection("a")
    #expect(try database.prepare("PRAGMA integrity_check").all { $0.text(0) } == ["ok"])
    let sizes = try database.prepare("SELECT a, length(data) FROM t").all { [$0.int(0), $0.int(1)] }
    #expect(sizes == (0..<12).map { [$0, bytes.count] })
  }
}
