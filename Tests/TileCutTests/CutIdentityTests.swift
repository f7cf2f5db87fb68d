import RegionCatalog
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// What a cut depends on, as it is kept beside an unfinished one.
@Suite struct CutIdentityTests {
  /// For each member of ``CutOptions`` another value.
  static let changes: [(name: String, change: @Sendable (inout CutOptions) throws -> Void)] = [
    ("sourceSettings", { $0.sourceSettings[0] = try Self.settings(nodata: 1) }),
    ("drawing", { $0.drawing = [VectorLayer(.file("trip.gpx"), rules: [])] }),
    ("matrixSet", { $0.matrixSet = .worldCRS84Quad }),
    ("zoom", { $0.zoom = .levels(0...5) }),
    ("variableDepth", { $0.variableDepth = true }),
    ("bounds", { $0.bounds = BoundingBox(west: 1, south: 2, east: 3, north: 4.000_000_000_1) }),
    ("isFlat", { $0.isFlat = true }),
    ("encoding", { $0.encoding = .png(PNGOptions(effort: .small)) }),
    ("resampling", { $0.resampling = .cubic }),
    ("tileSize", { $0.tileSize = 512 }),
    ("scaleFactor", { $0.scaleFactor = 2 }),
    ("isLinear", { $0.isLinear = true }),
    ("tileHashes", { $0.tileHashes = true }),
    ("crs", { $0.crs = "EPSG:4326" }),
    ("nodata", { $0.nodata = [0, 255] }),
    ("scale", { $0.scale = .auto }),
    ("bands", { $0.bands = [3, 2, 1] }),
    ("alpha", { $0.alpha = .absent }),
    ("name", { $0.name = "another name" }),
    ("attribution", { $0.attribution = "USGS" }),
    ("description", { $0.description = "a description" }),
    ("type", { $0.type = .overlay }),
    ("version", { $0.version = "2" }),
    ("places", { $0.places = [Place(name: "Longs Peak", longitude: -105.6, latitude: 40.3)] }),
    ("boundary", { $0.boundary = try Self.boundary(10) }),
    ("scheme", { $0.scheme = .tms }),
    ("clip", { $0.clip = ClipArea(try Self.boundary(10)) }),
    ("extraMetadata", { $0.extraMetadata["key"] = "value" }),
  ]

  private static func settings(nodata: Double) throws -> SourceSettings {
    var settings = SourceSettings()
    settings.nodata = [nodata]
    return settings
  }

  private static func boundary(_ east: Double) throws -> RegionBoundary {
    let folder = try TemporaryFolder()
    return try RegionBoundary(
      clipFile: try folder.write(
        "area.geojson",
        #"{"type": "Polygon", "coordinates": [[[0, 0], [\#(east), 0], [\#(east), 9.5], [0, 9.5], [0, 0]]]}"#))
  }

  private func identity(
    _ options: CutOptions, tool: String = "1.0", source: String = "content:1", library: String = "1"
  ) -> CutIdentity {
    CutIdentity(
      toolVersion: tool, libraries: [LibraryIdentity(name: "libjpeg", version: library)],
      sources: [SourceIdentity(path: "a.tif", bytes: 5, digest: source)], options: options,
      name: options.name ?? "a")
  }

  @Test func everyMemberOfTheOptionsIsTried() {
    let members = Mirror(reflecting: CutOptions(sources: [])).children.compactMap(\.label).filter { $0 != "sources" }
    #expect(Set(members) == Set(Self.changes.map(\.name)))
  }

  @Test(arguments: changes.indices) func changedOptionIsNamed(_ index: Int) throws {
    let (name, change) = Self.changes[index]
    let old = identity(CutOptions(sources: ["a.tif"]))
    var options = CutOptions(sources: ["b/a.tif"])
    #expect(identity(options).difference(from: old) == nil)
    #expect(identity(options).digest == old.digest)
    try change(&options)
    let new = identity(options)
    let difference = try #require(new.difference(from: old))
    #expect(difference.hasPrefix(CutOptionText.flag(name)) && !difference.contains("("), "\(difference)")
    #expect(new.digest != old.digest)
    // Also as they come back from a file.
    let read = try #require(CutIdentity(try JSONValue(parsing: new.json.bytes)))
    #expect(read.difference(from: new) == nil && read.digest == new.digest)
    try change(&options)
    #expect(identity(options).digest == new.digest)
  }

  /// Messages have the words that one types.
  @Test func differencesAreInTheWordsOfOptions() {
    func difference(_ change: (inout CutOptions) -> Void) -> String? {
      var options = CutOptions(sources: ["a.tif"])
      change(&options)
      return identity(options).difference(from: identity(CutOptions(sources: ["a.tif"])))
    }
    #expect(difference { $0.zoom = .levels(0...5) } == "--zoom was not given, and now it is 0-5")
    #expect(difference { $0.tileSize = 512 } == "--tile-size was not given, and now it is 512")
    #expect(difference { $0.isLinear = true } == "--linear was not given, and now it is given")
    #expect(difference { $0.matrixSet = .degrees } == "--matrix was WebMercatorQuad, and now it is degrees")
    #expect(
      difference { $0.encoding = .auto(JPEGOptions(quality: 70), PNGOptions(colours: 16)) }
        == "--format with its options was png, and now it is auto --quality 70 --colors 16")
    #expect(difference { $0.extraMetadata["a"] = "b" } == "the manifest is not the same")
  }

  @Test func smallDifferencesInLongValuesCount() throws {
    var (one, other) = (CutOptions(sources: ["a.tif"]), CutOptions(sources: ["a.tif"]))
    one.clip = ClipArea(try Self.boundary(10))
    other.clip = ClipArea(try Self.boundary(10.000_000_1))
    #expect(identity(one).difference(from: identity(other)) != nil)
    other.clip = one.clip
    #expect(identity(one).difference(from: identity(other)) == nil)
    other.clip?.bufferMetres = 1
    #expect(identity(one).difference(from: identity(other)) != nil)
  }

  /// The order of a dictionary differs from run to run.
  @Test func orderOfDictionariesDoesNotCount() throws {
    var (one, other) = (CutOptions(sources: ["a.tif"]), CutOptions(sources: ["a.tif"]))
    for index in 0..<40 {
      one.sourceSettings[index] = try Self.settings(nodata: Double(index))
      other.sourceSettings[39 - index] = try Self.settings(nodata: Double(39 - index))
    }
    #expect(identity(one).digest == identity(other).digest)
  }

  @Test func otherToolsAndSourcesAreDifferences() {
    let options = CutOptions(sources: ["a.tif"])
    let old = identity(options)
    #expect(identity(options, tool: "1.1").difference(from: old)?.contains("tilecut 1.0, and this is 1.1") == true)
    #expect(identity(options, source: "content:2").difference(from: old) == "the source a.tif has changed since")
    #expect(identity(options, source: "content:2").digest != old.digest)
    #expect(identity(options, library: "2").difference(from: old)?.contains("with another libjpeg") == true)
    #expect(identity(options, library: "2").digest != old.digest)
  }

  /// Those that a cut with these options may use.
  @Test func librariesHaveVersions() {
    func names(_ change: (inout CutOptions) -> Void) -> [String] {
      var options = CutOptions(sources: ["a.tif"])
      change(&options)
      return LibraryIdentity.all(for: options).filter { !$0.version.isEmpty }.map(\.name)
    }
    let always = ["libdeflate", "libjpeg", "libwebp", "libopenjp2", "PROJ"]
    #expect(names { _ in } == always)
    #expect(names { $0.drawing = [VectorLayer(.file("trip.gpx"), rules: [])] } == always + ["cairo"])
  }

  // MARK: - Sources

  private func source(_ path: String) throws -> SourceIdentity { try SourceIdentity(try SourceFile(path: path)) }

  @Test func contentOfASourceCountsAndNotItsPath() throws {
    let folder = try TemporaryFolder()
    let first = try source(folder.write("a.png", "some bytes"))
    #expect(try source(folder.write("b.png", "some bytes")).digest == first.digest)
    #expect(try source(folder.write("a.png", "some byteS")).digest != first.digest)
    #expect(first.digest.hasPrefix("content:"))
  }

  /// A world file that appears or changes moves the raster.
  @Test func filesBesideASourceCount() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a.png", "some bytes")
    var seen: Set = [try source(path).digest]
    for (name, text) in [("a.pgw", "1"), ("a.pgw", "2"), ("a.prj", "2"), ("a.png.aux.xml", "<a/>"), ("a.png.ovr", "x")]
    {
      try folder.write(name, text)
      #expect(seen.insert(try source(path).digest).inserted, "\(name) \(text)")
    }
  }

  @Test func largeSourceIsSampledAtItsEndsAndBetween() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("large.tif", "")
    try FileSystem.truncate(path, toBytes: SourceIdentity.sampledFrom + 5)
    let first = try source(path)
    #expect(first.digest.hasPrefix("sample:") && first.bytes == SourceIdentity.sampledFrom + 5)
    #expect(try source(path).digest == first.digest)
    let spool = try SpoolFile(path, from: SourceIdentity.sampledFrom + 4)
    try spool.append([1])
    try spool.flush()
    #expect(try source(path).digest != first.digest)
  }
}
