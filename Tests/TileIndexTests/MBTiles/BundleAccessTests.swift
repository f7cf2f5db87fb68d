import Foundation
import TestSupport
import Testing
import TileIndex

/// Bundles with changes that are only in the log: readers see them, and write nothing to the bundle or beside it.
@Suite(.ownThread) struct WriteAheadLogTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Names, contents and times of all files.
  func snapshot() throws -> [String: [String]] {
    try Dictionary(
      uniqueKeysWithValues: folder.names.map { name in
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
        return (name, ["\(try folder.bytes(name).hashValue)", "\(attributes[.modificationDate]!)"])
      })
  }

  /// A bundle whose last tile is only in the log. The connection that wrote it keeps it open.
  func writeLogged(_ name: String) throws -> Database {
    let database = try Database(folder.file(name))
    try database.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try database.run(ForeignBundle.flat())
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    try database.run("INSERT INTO tiles VALUES (3, 0, 0, \(ForeignBundle.hex(blob(9))))")
    return database
  }

  func copy(_ name: String, suffixes: [String]) throws {
    for suffix in suffixes {
      try FileManager.default.copyItem(atPath: folder.file("live.mbtiles\(suffix)"), toPath: folder.file(name + suffix))
    }
  }

  func expectLastTile(_ path: String) throws {
    let before = try snapshot()
    do {
      let reader = try MBTilesReader(path: path)
      #expect(try reader.tile(TileID(unchecked: 3, 0, 7)) == blob(9))
      #expect(try reader.tileCount() == 7)
    }
    #expect(try snapshot() == before)
  }

  @Test func logIsReadWhileAnotherConnectionWrites() throws {
    let live = try writeLogged("live.mbtiles")
    #expect(folder.names.contains("live.mbtiles-shm"))
    try expectLastTile(folder.file("live.mbtiles"))
    let reader = try MBTilesReader(path: folder.file("live.mbtiles"))
    try live.run("INSERT INTO tiles VALUES (3, 1, 0, X'01')")
    #expect(try reader.tileCount() == 8)
  }

  /// The files left by a crash, and by a copy that misses some of them.
  @Test(arguments: [["", "-wal", "-shm"], ["", "-wal"]])
  func logIsReadAfterTheWriterHasEnded(suffixes: [String]) throws {
    let live = try writeLogged("live.mbtiles")
    try copy("left.mbtiles", suffixes: suffixes)
    try expectLastTile(folder.file("left.mbtiles"))
    withExtendedLifetime(live) {}
  }

  @Test(arguments: [["", "-wal", "-shm"], ["", "-wal"]])
  func logIsReadOnReadOnlyMedia(suffixes: [String]) throws {
    let live = try writeLogged("live.mbtiles")
    try copy("left.mbtiles", suffixes: suffixes)
    guard let bind = try run("mount", ["--bind", folder.path, folder.path]), bind.status == 0 else {
      try Test.cancel("folders cannot be mounted here")
    }
    defer { _ = try? run("umount", [folder.path]) }
    guard let remount = try run("mount", ["-o", "remount,ro,bind", folder.path]), remount.status == 0 else {
      try Test.cancel("folders cannot be mounted read-only here")
    }
    try expectLastTile(folder.file("left.mbtiles"))
    withExtendedLifetime(live) {}
  }

  @Test func emptyLogsAreIgnored() throws {
    do {
      let live = try writeLogged("live.mbtiles")
      try live.run("PRAGMA wal_checkpoint(TRUNCATE)")
      try copy("clean.mbtiles", suffixes: ["", "-wal"])
    }
    #expect(try folder.bytes("clean.mbtiles-wal").isEmpty)
    try expectLastTile(folder.file("clean.mbtiles"))
  }

  /// An interrupted transaction in rollback mode: the main file is partly written and must not be read as it is.
  @Test func interruptedTransactionsAreReported() throws {
    let live = try Database(folder.file("live.mbtiles"))
    try live.run(ForeignBundle.flat())
    try live.run("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
    for zoom in 3..<20 { try live.run("INSERT INTO tiles VALUES (\(zoom), 0, 0, zeroblob(20000))") }
    #expect(folder.names.contains("live.mbtiles-journal"))
    try copy("left.mbtiles", suffixes: ["", "-journal"])
    let before = try snapshot()
    let error = #expect(throws: BundleError.self) {
      let reader = try MBTilesReader(path: folder.file("left.mbtiles"))
      _ = try reader.tileCount()
    }
    #expect(error?.code == .busy, "\(error?.description ?? "")")
    #expect(error?.remedy?.contains("sqlite3") == true)
    #expect(try snapshot() == before)
    withExtendedLifetime(live) {}
  }
}

/// Truncated databases are refused when they are opened, not at the first missing tile.
@Suite(.ownThread) struct DatabaseLengthTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func whole() throws -> [UInt8] {
    do {
      let database = try Database(folder.file("whole.mbtiles"))
      try database.run(ForeignBundle.flat())
      try database.run("INSERT INTO tiles VALUES (5, 0, 0, zeroblob(100000))")
    }
    return Array(try folder.bytes("whole.mbtiles"))
  }

  @Test func truncatedFilesAreRefused() throws {
    let bytes = try whole()
    _ = try MBTilesReader(path: folder.file("whole.mbtiles"))
    for count in [100, 101, 4096, bytes.count / 2, bytes.count - 1] {
      let path = try folder.write("part.mbtiles", bytes: Array(bytes.prefix(count)))
      let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
      #expect(error?.code == .malformed && error?.path == path)
      #expect(error?.message == "is cut off: \(count) of \(bytes.count) bytes are there")
    }
    // Bytes after the last page are ignored.
    _ = try MBTilesReader(path: folder.write("more.mbtiles", bytes: bytes + [1, 2, 3]))
  }

  /// Writers older than SQLite 3.7 do not update the page count; the header shows that it is stale.
  @Test func stalePageCountsAreIgnored() throws {
    var bytes = try whole()
    bytes[31] = 0xff
    #expect(throws: BundleError.self) { try MBTilesReader(path: folder.write("a.mbtiles", bytes: bytes)) }
    bytes[27] &+= 1
    _ = try MBTilesReader(path: folder.write("b.mbtiles", bytes: bytes))
  }

  /// Pages missing in the file may be in its log.
  @Test func filesWithALogAreNotCheckedForLength() throws {
    let live = try Database(folder.file("live.mbtiles"))
    try live.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try live.run(ForeignBundle.flat())
    try live.run("INSERT INTO tiles VALUES (5, 0, 0, zeroblob(100000))")
    #expect(try MBTilesReader(path: folder.file("live.mbtiles")).tileCount() == 7)
    withExtendedLifetime(live) {}
  }
}
