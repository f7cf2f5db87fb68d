import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// `BundleVerifier` and `BundleInspection` on PMTiles archives and folders.
@Suite(.ownThread) struct ContainerVerifierTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func verify(_ path: String) throws -> VerificationReport {
    try BundleVerifier(path: path, decode: BundleVerifierTests.decode).verify()
  }

  /// Zooms 0 to 3 of a quarter of the world, most of it one tile.
  func write(_ name: String, scheme: TileScheme = .xyz) throws -> String {
    let path = folder.file(name)
    let sink = try BundleFile.create(path, matrixSet: .webMercatorQuad, format: .png, scheme: scheme)
    for zoom in 0...3 {
      let last = max((1 << zoom) / 2 - 1, 0)
      for tile in TileRange(zoom: zoom, columns: 0...last, rows: 0...last) {
        try sink.put(tile, tile.column == 2 ? Images.grey256("\(tile)") : Images.grey256)
      }
    }
    _ = try sink.finish(BundleMetadata(name: "own", description: "a test", attribution: "us"))
    return path
  }

  @Test(arguments: [("own.pmtiles", BundleContainer.pmtiles), ("own/", .folder)])
  func writtenBundlesHaveNoFindings(name: String, kind: BundleContainer) throws {
    let report = try verify(try write(name))
    #expect(report.outcomes.flatMap(\.findings).isEmpty, "\(report.outcomes.flatMap(\.findings))")
    #expect(report.tiles == 22)
    #expect(report.outcomes.map(\.rule) == BundleVerifier.rules(for: kind))
    #expect(Set(report.outcomes.map(\.rule.id)).count == report.outcomes.count)
  }

  /// In containers of our own, which have a hash of their tiles, bounds hold every tile. Other makers know other rules.
  @Test(arguments: ["own.mbtiles", "own.pmtiles", "own.gpkg", "own/"]) func tilesLieWithinTheBounds(_ name: String)
    throws
  {
    let path = try write(name)
    func bounds() throws -> VerificationReport.Outcome {
      try #require(verify(path).outcomes.first { $0.rule.id == "bounds" })
    }
    #expect(try bounds().findings.isEmpty)
    try MetadataEdit(name: "bounds", value: "-180,10,-100,85").apply(to: path)
    let own = try bounds()
    #expect(own.errors > 0 && own.findings.contains { $0.message.contains("there are tiles outside the bounds") })
    guard !name.hasSuffix(".mbtiles") else { return }
    try MetadataEdit(name: "tiles_hash", value: nil).apply(to: path)
    let foreign = try bounds()
    #expect(foreign.errors == 0 && foreign.warnings > 0, "\(foreign.findings)")
  }

  /// The three containers of the same tiles have the same contents.
  @Test func inspectionsOfContainersAgree() throws {
    let flat = try BundleInspection(BundleFile.open(write("own.mbtiles")))
    for name in ["own.pmtiles", "own/"] {
      let found = try BundleInspection(BundleFile.open(write(name)))
      #expect(found.tiles == flat.tiles && found.distinctTiles == flat.distinctTiles && found.levels == flat.levels)
      #expect(found.metadata == flat.metadata)
      #expect(found.pageBytes == nil && found.container != .mbtiles)
      let json = try JSONEncoder().encode(found)
      #expect(try JSONDecoder().decode(BundleInspection.self, from: json) == found)
    }
    #expect(try BundleInspection(BundleFile.open(write("tms/", scheme: .tms))).scheme == "tms")
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let rule: String
    let message: String
    var severity = VerificationFinding.Severity.error
    let change: @Sendable (inout SmallArchive) -> Void
    var testDescription: String { message }
  }

  static let faults: [Fault] = [
    Fault(rule: "zooms", message: "maxzoom is 3, but the tiles' is 2") { $0.tiles = $0.tiles.filter { $0.key < 21 } },
    Fault(rule: "zooms", message: "zoom 1 has no tiles") { $0.tiles = $0.tiles.filter { !(1..<5).contains($0.key) } },
    Fault(rule: "position", message: "the zooms go from 3 to 0") { $0.zooms = (3, 0) },
    Fault(rule: "position", message: "have no area") { $0.bounds[0] = $0.bounds[2] },
    Fault(rule: "position", message: "reach beyond the Earth") { $0.bounds[0] = -1_900_000_000 },
    Fault(rule: "position", message: "lies outside the bounds", severity: .warning) { $0.center.1 = 1_810_000_000 },
    Fault(rule: "position", message: "zoom 9 has no tiles", severity: .warning) { $0.center.0 = 9 },
    Fault(rule: "blob-format", message: "the bytes are png, the metadata say jpg") { $0.tileType = 3 },
    Fault(rule: "archive", message: "which names no format", severity: .warning) { $0.tileType = 0 },
    Fault(rule: "archive", message: "compression of the directories is not given", severity: .warning) {
      $0.internalCompression = 0
    },
    Fault(rule: "directories", message: "leaf directories lie 2 deep", severity: .warning) {
      ($0.leafEntries, $0.leafLevels) = (4, 2)
    },
    Fault(rule: "decode", message: "does not decode") { $0.tiles[7] = Array(Images.grey256("7").prefix(40)) },
    Fault(rule: "layers", message: "vector_layers") { $0.tileType = 1 },
  ]

  /// All tiles of zooms 0 to 3.
  static func archive() -> SmallArchive {
    var archive = SmallArchive()
    for id in 0..<UInt64(85) { archive.tiles[id] = Images.grey256(id % 3 == 0 ? "\(id)" : "same") }
    return archive
  }

  @Test(arguments: faults) func faultsOfArchivesAreFound(_ fault: Fault) throws {
    var archive = Self.archive()
    fault.change(&archive)
    let report = try verify(try folder.write("a.pmtiles", bytes: archive.bytes))
    let found = report.outcomes.first { $0.rule.id == fault.rule }?.findings.first {
      $0.message.contains(fault.message)
    }
    #expect(found?.severity == fault.severity, "\(report.outcomes.flatMap(\.findings))")
    #expect(report.isValid == (fault.severity == .warning))
  }

  /// Fields of the header that no writer for tests sets.
  @Test(arguments: [
    (72, 80, "counts", "the header counts 80 tiles, the directories have 85"),
    (80, 1, "counts", "the header counts 1 entries"), (88, 200, "counts", "the header counts 200 contents"),
    (16, 20_000, "archive", "not in the first 16384 bytes"), (24, 130, "archive", "overlap"),
    (64, 5, "directories", "outside the tile data"),
  ]) func headersThatContradictTheFileAreFound(offset: Int, value: Int, rule: String, message: String) throws {
    var bytes = Self.archive().bytes + [UInt8](repeating: 0, count: 20_000)
    bytes.replaceSubrange(offset..<(offset + 8), with: SmallArchive.little(UInt64(value)))
    let report = try verify(try folder.write("a.pmtiles", bytes: bytes))
    let findings = report.outcomes.flatMap(\.findings)
    // A root directory that does not end where it should is damaged, and nothing else is checked.
    guard report.outcomes.count > 1 else {
      #expect(findings.count == 1 && offset < 40, "\(findings)")
      return
    }
    #expect(
      findings.contains { $0.rule == rule && $0.message.contains(message) && $0.severity == .error }, "\(findings)")
  }

  @Test func archivesThatAreNotClusteredMayNotSaySo() throws {
    let entries = [
      SmallArchive.Entry(id: 0, bytes: 10, offset: 10), SmallArchive.Entry(id: 1, run: 3, bytes: 10, offset: 0),
      SmallArchive.Entry(id: 2, bytes: 10, offset: 0),
    ]
    let archive = SmallArchive()
    var bytes = archive.archive(
      root: archive.pack(SmallArchive.directory(entries)), data: [UInt8](repeating: 0, count: 20))
    bytes[96] = 1
    let report = try verify(try folder.write("a.pmtiles", bytes: bytes))
    let messages = report.outcomes.filter { $0.rule.id != "zooms" }.flatMap(\.findings).map(\.message)
    #expect(messages.contains("the header says clustered, but contents lie in another order"), "\(messages)")
    #expect(messages.contains("an entry has tiles of the one before it"))
  }

  /// A run of two billion tiles costs no more than its entry.
  @Test func longRunsAreCountedAtOnce() throws {
    let start = TileID.firstHilbertID(zoom: 16)
    let tile = Images.grey256
    let entry = SmallArchive.Entry(id: start, run: 1 << 31, bytes: UInt64(tile.count), offset: 0)
    let archive = SmallArchive()
    let path = try folder.write(
      "a.pmtiles", bytes: archive.archive(root: archive.pack(SmallArchive.directory([entry])), data: tile))
    #expect(try verify(path).tiles == 1 << 31)
    #expect(try BundleInspection(BundleFile.open(path)).levels.map(\.tiles) == [1 << 31])
  }

  @Test(arguments: [
    ("1/0/0.jpg", "files", "there are 2 files of the tile", true), ("3/9/1.png", "files", "3/9 is no tile", false),
    ("2/0/x.png", "files", "2/0/x.png is no tile", false), ("31/0/0.png", "files", "", false),
    ("2/1/0.png", "blob-format", "not PNG", true),
  ]) func faultsOfFoldersAreFound(name: String, rule: String, message: String, isError: Bool) throws {
    let path = try write("own/")
    let url = URL(fileURLWithPath: path + name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("no image".utf8).write(to: url)
    let report = try verify(path)
    let found = report.outcomes.first { $0.rule.id == rule }?.findings.first { $0.message.contains(message) }
    #expect((found?.severity == .error) == isError, "\(report.outcomes.flatMap(\.findings))")
  }

  @Test func foldersWithoutMetadataAreValidWithWarnings() throws {
    let path = try write("own/")
    for name in TileFolder.documents { try? FileManager.default.removeItem(atPath: path + name) }
    let report = try verify(path)
    #expect(report.isValid)
    let messages = report.outcomes.first { $0.rule.id == "folder-metadata" }?.findings.map(\.message)
    #expect(messages?.count == 2 && messages?[0] == "name is not given", "\(messages ?? [])")
  }

  /// Errors, then warnings, of archives of other makers.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      "byte_jpg.pmtiles", "byte_png.pmtiles", "byte_webp.pmtiles", "small_world_jpg.pmtiles", "test_fixture_1.pmtiles",
    ])
  func realArchivesAreValid(name: String) throws {
    let report = try verify(TestData.url("maps/tilesets/\(name)").path)
    #expect(report.isValid && report.tiles > 0, "\(report.outcomes.flatMap(\.findings))")
    #expect(try BundleInspection(BundleFile.open(report.path)).tiles == report.tiles)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [("invalid.pmtiles", "is not a"), ("invalid_v4.pmtiles", "version 4")])
  func unreadableArchivesGiveOneError(name: String, message: String) throws {
    let report = try verify(TestData.url("maps/tilesets/\(name)").path)
    #expect(report.errors == 1 && report.outcomes[0].findings[0].message.contains(message), "\(report)")
  }
}
