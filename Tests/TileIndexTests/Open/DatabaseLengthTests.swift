import Foundation
import TestSupport
import Testing
import TileIndex

/// Half-copied databases are refused when they are opened, not at the first tile that is missing.
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

  @Test func cutOffCopies() throws {
    let bytes = try whole()
    _ = try MBTilesReader(path: folder.file("whole.mbtiles"))
    for count in [100, 101, 4096, bytes.count / 2, bytes.count - 1] {
      let path = try folder.write("part.mbtiles", bytes: Array(bytes.prefix(count)))
      let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
      #expect(error?.code == .malformed && error?.path == path)
      #expect(error?.message == "is cut off: \(count) of \(bytes.count) bytes are there")
    }
    // Bytes behind the last page do no harm.
    _ = try MBTilesReader(path: folder.write("more.mbtiles", bytes: bytes + [1, 2, 3]))
  }

  /// An old writer leaves the field as it was: the page count then means nothing.
  @Test func pageCountsOfOldWriters() throws {
    var bytes = try whole()
    bytes[31] = 0xff
    #expect(throws: BundleError.self) { try MBTilesReader(path: folder.write("a.mbtiles", bytes: bytes)) }
    bytes[27] &+= 1
    _ = try MBTilesReader(path: folder.write("b.mbtiles", bytes: bytes))
  }

  /// What is missing in the file may be in its log.
  @Test func filesWithALogAreLeftAlone() throws {
    let live = try Database(folder.file("live.mbtiles"))
    try live.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try live.run(ForeignBundle.flat())
    try live.run("INSERT INTO tiles VALUES (5, 0, 0, zeroblob(100000))")
    #expect(try MBTilesReader(path: folder.file("live.mbtiles")).tileCount() == 7)
    withExtendedLifetime(live) {}
  }
}
