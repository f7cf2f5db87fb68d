import CSQLite
import Foundation
import TestSupport
import Testing
import TileIndex

/// `inspect` and `verify` on bundles of other tools; they change no file.
@Suite(.ownThread) struct InspectVerifyTests {
  struct Bundle: Sendable, CustomTestStringConvertible {
    let name: String
    let inspect: Int32
    let verify: Int32
    var testDescription: String { name }
  }

  static let bundles = [
    Bundle(name: "byte.mbtiles", inspect: 0, verify: 0),
    Bundle(name: "byte_jpeg.mbtiles", inspect: 0, verify: 0),
    // Pages cut off; not a database at all.
    Bundle(name: "corrupt.mbtiles", inspect: 65, verify: 1),
    Bundle(name: "byte_png.pmtiles", inspect: 0, verify: 0),
    Bundle(name: "invalid.pmtiles", inspect: 65, verify: 1),
    // A database without tiles.
    Bundle(name: "invalid.mbtiles", inspect: 65, verify: 1),
    Bundle(name: "geography-class-png.mbtiles", inspect: 0, verify: 1),
    Bundle(name: "geography-class-webp.mbtiles", inspect: 0, verify: 1),
    Bundle(name: "globe.mbtiles", inspect: 0, verify: 0),
    // Blobs that are no images.
    Bundle(name: "invalid-tile-format.mbtiles", inspect: 0, verify: 1),
    Bundle(name: "plain_1.mbtiles", inspect: 0, verify: 1),
    // No tile.
    Bundle(name: "with spaces.mbtiles", inspect: 0, verify: 1),
    Bundle(name: "world_cities.mbtiles", inspect: 0, verify: 0),
    Bundle(name: "world_l1.mbtiles", inspect: 0, verify: 1),
    Bundle(name: "world_l1_webp.mbtiles", inspect: 0, verify: 0),
  ]

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)), arguments: bundles)
  func inspectPrintsMetadataAndCounts(_ bundle: Bundle) throws {
    let path = TestData.url("maps/tilesets/\(bundle.name)").path
    let text = try tilecut("inspect", path)
    let json = try tilecut("inspect", path, "--json")
    #expect(text.status == bundle.inspect, "\(text)")
    #expect(json.status == bundle.inspect, "\(json)")
    guard bundle.inspect == 0 else { return expectRefusal(text, naming: path) }
    let found = try JSONDecoder().decode(BundleInspection.self, from: Data(json.stdout.utf8))
    #expect(try found == BundleInspection(BundleFile.open(path)))
    #expect(text.stdout.contains("tiles      \(found.tiles), \(found.distinctTiles) distinct"), "\(text)")
    for level in found.levels {
      #expect(text.stdout.contains("\n  \(level.zoom < 10 ? " " : "")\(level.zoom) "), "\(text)")
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)), arguments: bundles)
  func verifyReportsTheBrokenRules(_ bundle: Bundle) throws {
    let path = TestData.url("maps/tilesets/\(bundle.name)").path
    let text = try tilecut("verify", path)
    let json = try tilecut("verify", "--json", path)
    #expect(text.status == bundle.verify, "\(text)")
    #expect(json.status == bundle.verify, "\(json)")
    let report = try JSONDecoder().decode(VerificationReport.self, from: Data(json.stdout.utf8))
    #expect(report.isValid == (bundle.verify == 0))
    let verdict = try #require(text.stdoutLines.last)
    #expect(verdict.hasPrefix("\(path): \(report.isValid ? "valid" : "not valid")"), "\(text)")
    // Each finding names its remedy.
    for line in text.stdoutLines.dropLast() where !line.hasPrefix(" ") {
      #expect(line.contains("; ") && (line.hasPrefix("error ") || line.hasPrefix("warning ")), "\(line)")
    }
    #expect(text.stdoutLines.contains { $0.hasPrefix("error ") } == !report.isValid)
  }

  @Test(arguments: ["inspect", "verify", "preview", "extract", "merge"]) func missingBundleIsNamed(_ command: String)
    throws
  {
    let folder = try TemporaryFolder()
    let more = ["inspect", "verify"].contains(command) ? [] : ["-o", folder.file("out")]
    let run = try Command(built: "tilecut").run([command, folder.file("missing.mbtiles")] + more)
    expectRefusal(run, status: 66, naming: folder.file("missing.mbtiles"))
    #expect(folder.names == [])
  }

  /// Control characters and line breaks in a bundle's texts are escaped.
  @Test func textsOfABundleCannotAddLinesToTheOutput() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.file("map.mbtiles")
    #expect(try tilecut("cut", try folder.writePlacedPicture(), "-o", bundle, "--zoom", "0-1").status == 0)
    try writeLog(bundle, "UPDATE metadata SET value = 'a\u{1b}[2J\u{202e}\r\nvalid: all is well' WHERE name = 'name'") {
    }
    for words in [["inspect"], ["inspect", "--json"], ["verify"], ["verify", "--json"]] {
      let run = try Command(built: "tilecut").run(words + [bundle])
      #expect(
        !run.stdout.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202e}" }, "\(words): \(run)")
      #expect(!run.stdoutLines.contains { $0.hasPrefix("valid: ") }, "\(words): \(run)")
    }
    #expect(try tilecut("inspect", bundle).stdout.contains(#"name: a\u001b[2J\u202e\r\nvalid: all is well"#))
  }

  /// A bundle as a crashed writer leaves it, on read-only media: the log's changes are read, and no file changes.
  @Test func journalLeftByAWriterIsReadAndNotRemoved() throws {
    let folder = try TemporaryFolder()
    let original = folder.file("original.mbtiles")
    #expect(try tilecut("cut", try folder.writePlacedPicture(), "-o", original, "--zoom", "0-1").status == 0)
    try writeLog(original, "UPDATE metadata SET value = 'Seen in the log' WHERE name = 'name'") {
      try FileManager.default.createDirectory(atPath: folder.file("media"), withIntermediateDirectories: false)
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(
          atPath: original + suffix, toPath: folder.file("media/left.mbtiles\(suffix)"))
      }
    }
    let media = folder.file("media")
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: media)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: media) }
    func contents() throws -> [String: Data] {
      Dictionary(
        uniqueKeysWithValues: try FileManager.default.contentsOfDirectory(atPath: media).map {
          ($0, try folder.bytes("media/\($0)"))
        })
    }
    let before = try contents()
    #expect(before.keys.sorted() == ["left.mbtiles", "left.mbtiles-wal"])
    #expect(before["left.mbtiles-wal"]?.isEmpty == false)

    let bundle = folder.file("media/left.mbtiles")
    let inspection = try tilecut("inspect", bundle)
    #expect(inspection.status == 0 && inspection.stdout.contains("name: Seen in the log\n"), "\(inspection)")
    let verification = try tilecut("verify", bundle)
    #expect(verification.status == 1 && verification.stdout.contains("left.mbtiles-wal; "), "\(verification)")
    let sheet = try tilecut("preview", "--contact-sheet", bundle, "-o", folder.file("sheet.png"))
    #expect(sheet.status == 0, "\(sheet)")
    #expect(try contents() == before)

    // A cut does not replace a bundle with changes in a log.
    expectRefusal(
      try tilecut("cut", folder.file("placed.png"), "-o", bundle, "--force"), status: 75, naming: "left.mbtiles-wal")
    #expect(try contents() == before)
  }

  /// Changes a database through a write-ahead log, and calls a closure before the log is merged.
  private func writeLog(_ path: String, _ change: String, _ body: () throws -> Void) throws {
    var connection: OpaquePointer?
    try #require(sqlite3_open(path, &connection) == SQLITE_OK)
    defer { sqlite3_close(connection) }
    for statement in ["PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", change] {
      try #require(sqlite3_exec(connection, statement, nil, nil, nil) == SQLITE_OK, "\(statement)")
    }
    try body()
  }
}
