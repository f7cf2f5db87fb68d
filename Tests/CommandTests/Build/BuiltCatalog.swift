import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileIndex

/// A small manifest with its sources, and what `tilecut build` makes of it, in a folder of the test's own.
struct BuiltCatalog {
  let folder: TemporaryFolder
  var manifest: String { folder.file("regions.json") }
  var output: String { folder.file("dist") }

  init() throws {
    folder = try TemporaryFolder()
    _ = try folder.writePlacedPicture("placed.png")
    _ = try folder.writePlacedPicture("other.png", edge: 48)
    try folder.writeNoise("noise.png")
  }

  /// A copy of a folder in which the four regions of ``writeVariety(edition:last:packs:)`` were built once for all
  /// tests: a debug build takes seconds for them.
  static func built() throws -> BuiltCatalog {
    let catalog = BuiltCatalog(folder: try TemporaryFolder())
    for name in try variety.get().folder.names {
      try FileManager.default.copyItem(atPath: variety.get().folder.file(name), toPath: catalog.folder.file(name))
    }
    return catalog
  }

  /// What the build of ``built()`` printed.
  static func buildRun() throws -> CommandRun { try variety.get().run }

  private static let variety: Result<(folder: TemporaryFolder, run: CommandRun), any Error> = Result {
    let catalog = try BuiltCatalog()
    try catalog.writeVariety()
    let run = try catalog.build("--json", "--jobs", "2")
    try #require(run.status == 0, "\(run)")
    // A static value is never released.
    atexit {
      if let variety = try? BuiltCatalog.variety.get() {
        try? FileManager.default.removeItem(atPath: variety.folder.path)
      }
    }
    return (catalog.folder, run)
  }

  private init(folder: TemporaryFolder) { self.folder = folder }

  /// Writes the manifest. Previews are small, because a debug build takes seconds to write one of the usual size.
  func write(_ regions: String, defaults: String = #""edition": "1", "sources": ["placed.png"], "zoom": [0, 1]"#)
    throws
  {
    let preview = defaults.contains("preview") ? "" : #", "preview": {"width": 64}"#
    try folder.write("regions.json", "{\"defaults\": {\(defaults)\(preview)}, \"regions\": [\(regions)]}")
  }

  static func region(_ id: String, _ fields: String = "") -> String {
    #"{"id": "\#(id)", "title": "Map \#(id)", "category": "park"\#(fields)}"#
  }

  /// Four regions of different grids and formats.
  func writeVariety(edition: String = "1", last: String = "", packs: Int = 400_000) throws {
    try write(
      [
        Self.region("whole", #", "gazetteers": ["places.geojson"]"#),
        Self.region(
          "degrees",
          #", "matrix": "WorldCRS84Quad", "packBytes": \#(packs), "zoom": [0, 5]"#
            + #", "sources": ["other.png", "noise.png"]"#
        ),
        Self.region(
          "levels",
          #"""
          , "sources": ["placed.png", "noise.png"], "zoom": [0, 2], "matrix": {"id": "L", "tileEdges": [24, 8, 2], \#
          "tileSizes": [96]}, "packBytes": 400000
          """#
        ),
        Self.region("jpeg", #", "format": "jpeg", "bounds": [12, 42, 18, 48]\#(last)"#),
      ].joined(separator: ","),
      defaults: #""edition": "\#(edition)", "sources": ["placed.png"], "zoom": [0, 3], "preview": {"width": 64}"#)
    try writePlaces()
  }

  /// Writes a gazetteer with a place inside the rasters and one outside.
  func writePlaces() throws {
    try folder.write(
      "places.geojson",
      #"""
      {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "Here"}, \#
      "geometry": {"type": "Point", "coordinates": [15, 45]}}, {"type": "Feature", "properties": {"name": "Far"}, \#
      "geometry": {"type": "Point", "coordinates": [150, 45]}}]}
      """#
    )
  }

  func build(_ options: String..., timeout: Double = 120) throws -> CommandRun {
    try build(options, timeout: timeout)
  }

  func build(
    _ options: [String], environment: [String: String] = [:], timeout: Double = 120
  ) throws -> CommandRun {
    try Command(built: "tilecut").run(
      ["build", manifest, "-o", output, "--progress", "plain"] + options, environment: environment, timeout: timeout)
  }

  func catalogue() throws -> Catalog { try Catalog(path: "\(output)/catalogue.json") }

  func path(_ name: String) -> String { "\(output)/\(name)" }

  /// The names of the files that were built, without the builder's own folder.
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: output)) ?? []).filter { $0 != ".tilecut" }.sorted()
  }

  /// Names and hashes of the files that were built.
  func contents() throws -> [String: String] {
    try Dictionary(uniqueKeysWithValues: names.map { ($0, try FileHash.sha256(ofFile: path($0))) })
  }

  /// Expects that every file that the catalogue lists exists, with the size and hash of its entry.
  ///
  /// - Returns: the number of the catalogue's regions; nil when there is no catalogue.
  @discardableResult
  func expectConsistent(_ when: Comment = "", sourceLocation: SourceLocation = #_sourceLocation) throws -> Int? {
    guard FileManager.default.fileExists(atPath: path("catalogue.json")) else { return nil }
    let catalogue = try catalogue()
    for file in catalogue.regions.flatMap(\.files) {
      let bytes = try? Data(contentsOf: URL(fileURLWithPath: path(file.file)))
      #expect(bytes?.count == file.bytes, "\(when): \(file.file)", sourceLocation: sourceLocation)
      #expect(
        (try? FileHash.sha256(ofFile: path(file.file))) == file.sha256, "\(when): \(file.file)",
        sourceLocation: sourceLocation)
    }
    return catalogue.regions.count
  }
}
