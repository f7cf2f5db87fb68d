import CSQLite
import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Databases that are written in large pieces.
@Suite(.ownThread) struct GatheringFileSystemTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func open(_ name: String, gathering: Bool) throws -> SQLiteConnection {
    try SQLiteConnection(
      uri: SQLiteConnection.uri(
        path: folder.file(name), parameters: gathering ? ["vfs=\(GatheringFileSystem.name)"] : []),
      flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
  }

  /// Rows of all sizes that come, change and go, with a cache of few pages, so that pages are written, read and written
  /// again in no order.
  private func work(_ connection: SQLiteConnection, pageBytes: Int, journal: String, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for pragma in ["page_size = \(pageBytes)", "journal_mode = \(journal)", "synchronous = OFF", "cache_size = 12"] {
      try connection.execute("PRAGMA \(pragma)")
    }
    try connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, key INTEGER UNIQUE, data BLOB)")
    let insert = try connection.prepare("INSERT OR IGNORE INTO a (key, data) VALUES (?1, ?2)")
    let update = try connection.prepare("UPDATE a SET data = ?2 WHERE key = ?1")
    let delete = try connection.prepare("DELETE FROM a WHERE key > ?1 AND key < ?1 + 3")
    for _ in 0..<3 {
      try connection.execute("BEGIN")
      for _ in 0..<400 {
        let key = Int.random(in: 0..<1000, using: &random)
        let bytes = [UInt8](
          repeating: UInt8.random(in: 0...255, using: &random),
          count: Int.random(in: 0..<(Bool.random(using: &random) ? 300 : 60_000), using: &random))
        let statement = [insert, insert, insert, update, delete].randomElement(using: &random)!
        statement.bind(1, key)
        if statement !== delete { statement.bind(2, bytes) }
        try statement.run()
      }
      try connection.execute("COMMIT")
    }
  }

  @Test(arguments: [512, 4096, 8192, 65536], ["OFF", "DELETE"])
  func filesAreThoseOfTheDefault(pageBytes: Int, journal: String) throws {
    #expect(GatheringFileSystem.isAvailable)
    // After each step all that was committed is in the file, also while it is open.
    let steps = try [false, true].map { gathering in
      let connection = try open(gathering ? "b" : "a", gathering: gathering)
      func bytes() throws -> Data { try folder.bytes(gathering ? "b" : "a") }
      try work(connection, pageBytes: pageBytes, journal: journal, seed: UInt64(pageBytes))
      let written = try bytes()
      #expect(try connection.prepare("PRAGMA integrity_check").first { $0.text(0) } == "ok")
      try connection.execute("DELETE FROM a WHERE key % 3 > 0")
      try connection.execute("VACUUM")
      return [written, try bytes()]
    }
    #expect(steps[0] == steps[1] && steps[0][1].count < steps[0][0].count)
    #expect(try open("b", gathering: false).prepare("PRAGMA integrity_check").first { $0.text(0) } == "ok")
  }

  /// A transaction without a commit leaves what SQLite leaves, and a connection that is released ends its thread.
  @Test func unfinishedTransactionsAreRolledBack() throws {
    for gathering in [false, true] {
      let connection = try open(gathering ? "b" : "a", gathering: gathering)
      try work(connection, pageBytes: 4096, journal: "DELETE", seed: 7)
      try connection.execute("BEGIN")
      try connection.execute("UPDATE a SET data = zeroblob(30000)")
      try connection.execute("ROLLBACK")
    }
    #expect(try folder.bytes("a") == folder.bytes("b"))
  }
}
