import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct BundleFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func error(_ path: String) -> BundleError? {
    #expect(throws: BundleError.self) { try BundleFile.open(path) }
  }

  /// File names are ignored.
  @Test func formatsAreDetectedFromContent() throws {
    try Database(folder.file("a.png")).run(ForeignBundle.flat())
    var archive = SmallArchive()
    archive.tiles = [0: blob(1)]
    try folder.write("b.mbtiles", bytes: archive.bytes)
    try FileManager.default.createDirectory(atPath: folder.file("c.pmtiles/0/0"), withIntermediateDirectories: true)
    try folder.write("c.pmtiles/0/0/0.png", bytes: blob(1))
    for (name, kind) in [("a.png", .mbtiles), ("b.mbtiles", .pmtiles), ("c.pmtiles", .folder)]
      as [(String, BundleContainer)]
    {
      #expect(BundleFile.kind(folder.file(name)) == kind)
      let reader = try BundleFile.open(folder.file(name))
      #expect(try reader.tile(TileID(unchecked: 0, 0, 0)) == blob(1))
      #expect(reader.path == folder.file(name))
      #expect(reader.matrixSet == .webMercatorQuad)
    }
  }

  @Test func otherFilesAreRefusedWithARemedy() throws {
    let cases: [(String, [UInt8], String)] = [
      ("picture.mbtiles", Images.grey256, "cut it"), ("raster.tif", Array("II*\0....".utf8), "cut it"),
      ("a.zip", Array("PK\u{3}\u{4}....".utf8), "unpack"), ("a.mbtiles.gz", [0x1f, 0x8b, 8, 0, 0], "unpack"),
      ("text.pmtiles", Array("hello".utf8), "copied whole"), ("empty.mbtiles", [], "copy the bundle again"),
    ]
    for (name, bytes, word) in cases {
      let path = try folder.write(name, bytes: bytes)
      let error = error(path)
      #expect(error?.code == .malformed && error?.path == path)
      #expect(error?.remedy?.contains(word) == true, "\(error?.description ?? "")")
      #expect(BundleFile.kind(path) == nil)
    }
    #expect(error(folder.file("none"))?.code == .notFound)
    #expect(error("a\0b")?.code == .notFound)
    #expect(error(folder.path)?.message.contains("folder without tiles") == true)
    #expect(BundleFile.kind(folder.path) == nil && BundleFile.kind(folder.file("none")) == nil)
    #expect(error("/dev/null")?.message.contains("plain file") == true)
    #expect(BundleFile.kind("/dev/null") == nil)
  }

  @Test func missingPermissionsAreReported() throws {
    try putTile()
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: folder.file("f/0"))
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("f/0")) }
    guard !FileManager.default.isReadableFile(atPath: folder.file("f/0")) else {
      try Test.cancel("this user may read everything")
    }
    let error = #expect(throws: BundleError.self) { try TileFolderReader(path: folder.file("f")) }
    #expect(error?.message.contains("permission denied") == true)
  }

  private func putTile() throws {
    try FileManager.default.createDirectory(atPath: folder.file("f/0/0"), withIntermediateDirectories: true)
    try folder.write("f/0/0/0.png", bytes: blob(1))
  }

  /// A database with changes in its log is detected without opening the file, which would drop SQLite's locks on close.
  @Test func databasesBeingWrittenAreDetected() throws {
    let live = try Database(folder.file("live.mbtiles"))
    try live.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    try live.run(ForeignBundle.flat())
    #expect(BundleFile.kind(folder.file("live.mbtiles")) == .mbtiles)
    #expect(try BundleFile.open(folder.file("live.mbtiles")).zooms() == [0, 1, 2])
    withExtendedLifetime(live) {}
  }

  /// Errors come from the format's reader, not from the detection.
  @Test func damagedBundlesAreDetectedByFormat() throws {
    let old = try folder.write("old.pmtiles", bytes: Array("PM".utf8) + [2, 0] + [UInt8](repeating: 0, count: 200))
    #expect(BundleFile.kind(old) == .pmtiles)
    #expect(error(old)?.message.contains("version 2") == true)
    let short = try folder.write("short.pmtiles", bytes: Array("PMTiles".utf8) + [3, 1])
    #expect(error(short)?.message.contains("cut off") == true)
  }

  /// The messages of `tilecut inspect` and `tilecut verify` for other formats.
  @Test func mbtilesReaderReportsOtherFormats() throws {
    var archive = SmallArchive()
    archive.tiles = [0: blob(1)]
    let path = try folder.write("a.pmtiles", bytes: archive.bytes)
    let error = #expect(throws: BundleError.self) { try MBTilesReader(path: path) }
    #expect(error?.message == "is a PMTiles archive; only MBTiles bundles are read here")
    let other = #expect(throws: BundleError.self) { try MBTilesReader(path: folder.path) }
    #expect(other?.message == "is a folder; only MBTiles bundles are read here")
  }

  @Test(.enabled(if: TestData.isPresent, "\(TestData.skipMessage)")) func testDataOpens() throws {
    let path = TestData.url("maps/tilesets").path
    let broken = [
      "corrupt.mbtiles", "invalid.mbtiles", "invalid.pmtiles", "invalid_v4.pmtiles",
    ]
    for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
      let file = "\(path)/\(name)"
      if broken.contains(name) {
        #expect(error(file)?.code == .malformed, "\(name)")
      } else {
        let reader = try BundleFile.open(file)
        for zoom in try reader.zooms() {
          let range = try #require(try reader.range(zoom: zoom))
          #expect(try range.contains { try reader.tile($0) != nil }, "\(name)")
        }
      }
    }
  }
}
