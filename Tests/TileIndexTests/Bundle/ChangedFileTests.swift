import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// A reader keeps to the edition that it opened, whatever happens to the file.
@Suite(.ownThread) struct ChangedFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let first = TileID(unchecked: 1, 0, 0)

  /// Four tiles whose bytes name the edition.
  private func write(_ name: String, edition: Int, bytes: Int = 30_000) throws {
    let sink = try BundleFile.create(folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    defer { sink.discard() }
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 1) { try sink.put(tile, content(tile, edition, bytes)) }
    _ = try sink.finish(BundleMetadata(name: "edition"))
  }

  private func content(_ tile: TileID, _ edition: Int, _ count: Int = 30_000) -> [UInt8] {
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, UInt8(edition), UInt8(tile.column), UInt8(tile.row)]
      + [UInt8](repeating: UInt8(edition), count: count)
  }

  /// As cp and rsync --inplace do.
  private func overwrite(_ name: String, with bytes: Data, from offset: Int = 0) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file(name)))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: bytes)
    try file.close()
  }

  @Test(arguments: ["a.mbtiles", "a.gpkg", "a.pmtiles"]) func overwrittenFileEndsTheReader(name: String) throws {
    try write(name, edition: 1)
    try write("new-\(name)", edition: 2)
    let reader = try BundleFile.open(folder.file(name))
    #expect(try reader.tile(Self.first) == content(Self.first, 1))
    try overwrite(name, with: folder.bytes("new-\(name)"))
    for _ in 0..<2 {
      #expect(throws: BundleError.self) { try reader.tile(Self.first) }
      let error = #expect(throws: BundleError.self) {
        let read = try reader.withResidentTile(Self.first) { $0.count }
        // Nothing is in memory that says otherwise.
        if read == .wouldWait { throw BundleError.changed(folder.file(name)) }
      }
      #expect(error?.code == .changed)
    }
    // A part of a copy may have come, so it counts when it has been still for a while.
    let busy = #expect(throws: BundleError.self) { try BundleFile.open(folder.file(name)).tile(Self.first) }
    #expect(busy?.code == .busy && busy?.path == folder.file(name), "\(busy?.description ?? "")")
    #expect(
      eventually {
        guard let new = try? BundleFile.open(folder.file(name)) else { return false }
        return (try? new.tile(Self.first)) == content(Self.first, 2)
      })
  }

  /// One byte, without another size and with the earlier date.
  @Test(arguments: ["a.mbtiles", "a.gpkg", "a.pmtiles"]) func dateThatWasSetBackDoesNotHideAChange(name: String) throws
  {
    try write(name, edition: 1)
    let reader = try BundleFile.open(folder.file(name))
    let before = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.modificationDate]!
    try overwrite(name, with: Data([1]), from: 20_000)
    try FileManager.default.setAttributes([.modificationDate: before], ofItemAtPath: folder.file(name))
    let error = #expect(throws: BundleError.self) { try reader.forEachTile { _, _ in } }
    #expect(error?.code == .changed)
  }

  /// Nothing is written then, and there is nothing to wait for.
  @Test(arguments: ["a.mbtiles", "a.pmtiles"]) func otherNamesAndPermissionsAreNoChange(name: String) throws {
    try write(name, edition: 1)
    let reader = try BundleFile.open(folder.file(name))
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder.file(name))
    _ = try? reader.tile(Self.first)
    #expect(try BundleFile.open(folder.file(name)).tile(Self.first) == content(Self.first, 1))
    // A file that was replaced keeps its bytes for its readers.
    let old = try BundleFile.open(folder.file(name))
    try write("new-\(name)", edition: 2)
    #expect(rename(folder.file("new-\(name)"), folder.file(name)) == 0)
    #expect(try old.tile(Self.first) == content(Self.first, 1))
    #expect(try BundleFile.open(folder.file(name)).tile(Self.first) == content(Self.first, 2))
  }

  /// As on a network drive, where only opening a file tells its true state: no notice, no lease, no local clock.
  @Test func fileOnANetworkDrive() throws {
    let path = try folder.write("file", bytes: [UInt8](repeating: 1, count: 1000))
    let file = try ReadOnlyFile(path)
    let unchanged = try UnchangedFile(file.descriptor, path: path, isLocal: false)
    try unchanged.check()
    try overwrite("file", with: Data([2]), from: 999)
    #expect(throws: BundleError.self) { try unchanged.check() }
    let again = try UnchangedFile(file.descriptor, path: path, isLocal: false)
    #expect(!ChangingFiles.admits(again.signature, path))
    #expect(eventually { ChangingFiles.admits(again.signature, path) })
  }

  /// A tile of a folder that was emptied for a new one is not missing.
  @Test func tileOfAFolderIsReadAsAWhole() throws {
    try write("tiles/", edition: 1)
    let reader = try BundleFile.open(folder.file("tiles"))
    let file = "tiles/1/0/0.png"
    #expect(try reader.tile(Self.first) == content(Self.first, 1))
    let new = content(Self.first, 2)
    for begun in [0, 5000] {
      try folder.write(file, bytes: Array(new.prefix(begun)))
      let thread = Thread {
        usleep(30_000)
        try? FileSystem.write(Array(new.dropFirst(begun)), to: self.folder.file(file), at: begun)
      }
      thread.start()
      #expect(try reader.tile(Self.first) == new)
    }
    // An empty file is no tile, once nobody fills it.
    try folder.write(file, bytes: [])
    #expect(eventually { (try? reader.tile(Self.first)) == .some(nil) })
  }
}

/// Copies of a bundle beside a program that changes it by SQLite.
@Suite(.ownThread, .enabled(if: Command(installed: "sqlite3") != nil, "sqlite3 is not installed"))
struct CopyBesideAWriterTests {
  /// The system ends all locks of a process on a file when any descriptor of it is closed.
  @Test func locksOutliveOtherReadersOfTheFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    func write() throws -> Int32? {
      try #require(Command(installed: "sqlite3")).start([path, "BEGIN EXCLUSIVE; INSERT INTO a VALUES (1); COMMIT;"])
        .wait().status
    }
    let connection = try SQLiteConnection(creating: path)
    try connection.execute("CREATE TABLE a (b)")
    let before = try ReadOnlyFile(path)
    do {
      let holder = try #require(LockedFiles.Holder(path))
      try connection.execute("BEGIN; SELECT count(*) FROM a")
      _ = consume before
      var descriptors: Set<Int32> = []
      for _ in 0..<20 { descriptors.insert(try ReadOnlyFile(path).descriptor) }
      #expect(descriptors.count == 1)
      #expect(try write() != 0)
      try connection.execute("COMMIT")
      #expect(try write() == 0)
      _ = holder
    }
    // What was kept is closed, and the file can be opened as before.
    let after = try ReadOnlyFile(path)
    #expect(try after.bytes(at: 0, count: 16).count == 16)
  }

  /// Each copy has tiles of one transaction, or it is refused with `.changed` or `.busy`.
  @Test func copyIsOfOneState() throws {
    let copies = try ["DELETE", "WAL"].map { try self.copies(mode: $0) }
    #expect(copies.contains { $0 > 0 }, "no copy succeeds")
  }

  /// The number of copies that were not refused.
  private func copies(mode: String) throws -> Int {
    let folder = try TemporaryFolder()
    let path = folder.file("a.mbtiles")
    let writer = try SQLiteConnection(creating: path)
    try writer.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'a'), ('format', 'png');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255)
      INSERT INTO tiles SELECT 4, i / 16, i % 16, x'89504e470d0a1a0a' || zeroblob(12000) FROM n;
      CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
      """)
    try writer.close()
    // All tiles have the same number at their end.
    let script = (1...400).map { number in
      "UPDATE tiles SET tile_data = x'89504e470d0a1a0a' || zeroblob(12000) || '\(1000 + number)';"
    }
    let stop = folder.file("stop")
    try folder.write("script.sql", script.joined(separator: "\n"))
    let child = try Command(path: "/bin/sh").start([
      "-c",
      """
      sqlite3 '\(path)' 'PRAGMA journal_mode = \(mode)'
      while [ ! -e '\(stop)' ]; do sqlite3 '\(path)' '.timeout 20000' 'PRAGMA synchronous = OFF' \
      '.read \(folder.file("script.sql"))'; done
      """,
    ])
    let end = ContinuousClock.now + .seconds(3)
    var (copies, refusals) = (0, 0)
    while ContinuousClock.now < end || copies + refusals < 5 {
      do {
        let reader = try MBTilesReader(path: path)
        try BundleConvert().write(reader, to: folder.file("copy.mbtiles"), replacing: true)
        var numbers: Set<[UInt8]> = []
        try MBTilesReader(path: folder.file("copy.mbtiles")).forEachTile { _, bytes in
          numbers.insert(Array(bytes.suffix(4)))
        }
        #expect(numbers.count == 1, "\(numbers.count) states in a copy")
        copies += 1
      } catch let error as BundleError {
        #expect([.changed, .busy].contains(error.code), "\(error)")
        refusals += 1
      }
    }
    try folder.write("stop", "")
    child.send(SIGTERM)
    _ = child.wait(timeout: 60)
    print("\(mode): \(copies) copies, \(refusals) refusals")
    return copies
  }
}
