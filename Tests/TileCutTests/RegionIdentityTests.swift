import RegionCatalog
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// What the files of a region depend on: the same value that `cut --resume` and plans compare.
@Suite(.ownThread) struct RegionIdentityTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a.tif", "b.tif", "trip.gpx", "hut.svg", "places.csv"] { try folder.write(name, "any \(name)") }
    try folder.write("box.geojson", Self.box(2))
    try folder.write("cutline.geojson", Self.box(3))
  }

  private static func box(_ east: Int) -> String {
    #"{"type": "Polygon", "coordinates": [[[0, 0], [\#(east), 0], [\#(east), 2], [0, 2], [0, 0]]]}"#
  }

  private static let sources = #""sources": ["a.tif"]"#
  /// Members of a region, by the key of the manifest that they try.
  private static let changes: [(key: String, members: String)] = [
    ("id", #""id": "b", \#(sources)"#), ("title", #""title": "B", \#(sources)"#),
    ("productId", #""productId": "p", \#(sources)"#), ("description", #""description": "d", \#(sources)"#),
    ("bounds", #""bounds": [0, 0, 1, 1], \#(sources)"#), ("boundary", #""boundary": "box.geojson", \#(sources)"#),
    ("sources", #""sources": ["a.tif", "b.tif"]"#),
    ("sources", #""sources": [{"file": "a.tif", "crop": [0, 0, 8, 8]}]"#),
    ("sources", #""sources": [{"file": "a.tif", "cutline": "cutline.geojson"}]"#),
    ("sources", #""sources": [{"file": "a.tif", "crs": "EPSG:4326"}]"#),
    ("sources", #""sources": [{"file": "a.tif", "nodata": [1]}]"#),
    ("sources", #""sources": [{"file": "a.tif", "bands": [2]}]"#),
    ("layers", layers(#"[{"type": "line"}]"#)), ("layers", layers(#"[{"type": "line", "paint": {"line-width": 2}}]"#)),
    ("layers", layers(#"[{"type": "line"}]"#, #", "images": {"hut": "hut.svg"}"#)),
    ("layers", #""layers": [{"type": "relief", "dem": ["a.tif"]}]"#),
    ("layers", #""layers": [{"type": "relief", "dem": ["a.tif"], "azimuth": 90}]"#),
    ("layers", contours(10)), ("layers", contours(20)),
    ("layers", #""layers": [{"type": "raster", "sources": ["a.tif"]}, {"type": "graticule", "interval": 5}]"#),
    ("zoom", #""zoom": [0, 3], \#(sources)"#), ("variableDepth", #""variableDepth": true, \#(sources)"#),
    ("matrix", #""matrix": "WorldCRS84Quad", \#(sources)"#), ("tileSize", #""tileSize": 512, \#(sources)"#),
    ("scaleFactor", #""scaleFactor": 2, \#(sources)"#), ("format", #""format": "jpeg", \#(sources)"#),
    ("quality", #""format": "jpeg", "quality": 30, \#(sources)"#), ("effort", #""effort": "small", \#(sources)"#),
    ("colors", #""colors": 16, \#(sources)"#), ("resampling", #""resampling": "cubic", \#(sources)"#),
    ("linear", #""linear": true, \#(sources)"#), ("nodata", #""nodata": [0], \#(sources)"#),
    ("scale", #""scale": [0, 9], \#(sources)"#), ("scale", #""scale": "auto", \#(sources)"#),
    ("bands", #""bands": [3, 2, 1], \#(sources)"#), ("alpha", #""alpha": "none", \#(sources)"#),
    ("crs", #""crs": "EPSG:3857", \#(sources)"#), ("attribution", #""attribution": "us", \#(sources)"#),
    ("type", #""type": "overlay", \#(sources)"#), ("edition", #""edition": "7", \#(sources)"#),
    ("gazetteers", #""gazetteers": ["places.csv"], \#(sources)"#),
    ("clip", #""boundary": "box.geojson", "clip": true, \#(sources)"#),
    ("buffer", #""boundary": "box.geojson", "clip": true, "buffer": 50, \#(sources)"#),
    ("container", #""container": "pmtiles", \#(sources)"#), ("tileHashes", #""tileHashes": true, \#(sources)"#),
  ]

  private static func layers(_ style: String, _ more: String = "") -> String {
    #""layers": [{"type": "raster", "sources": ["a.tif"]}, {"type": "vector", "data": "trip.gpx", "style": \#(style)"#
      + more + "}]"
  }

  private static func contours(_ interval: Int) -> String {
    #""layers": [{"type": "raster", "sources": ["a.tif"]}, {"type": "contours", "dem": ["b.tif"], "#
      + #""interval": \#(interval)}]"#
  }

  private func prints(
    _ members: String = sources, tool: String = "1", library: String = "1"
  ) throws -> RegionFingerprints {
    let own = members.contains(#""id""#) ? members : #""id": "a", "# + members
    let all = (own.contains(#""title""#) ? "" : #""title": "A", "#) + own
    let path = try folder.write("regions.json", #"{"regions": [{"category": "c", \#(all)}]}"#)
    let manifest = try RegionManifest(path: path)
    let options = CatalogBuildOptions(manifest: manifest, output: folder.file("out"), toolVersion: tool)
    return try RegionFingerprints(
      manifest.regions[0], options, InputHashes(file: folder.file("hashes")),
      libraries: [LibraryIdentity(name: "PROJ", version: library)])
  }

  /// Every member of a manifest that a bundle depends on is tried, and each value gives another fingerprint.
  @Test func everySettingCounts() throws {
    let others: Set = ["priceTier", "packBytes", "preview"]
    let keys = Set(RegionSettings.keys).subtracting(others)
    #expect(keys.subtracting(Self.changes.map(\.key)) == [])
    var seen = [try prints().bundle: "nothing"]
    for (key, members) in Self.changes {
      let found = try prints(members)
      #expect(seen.updateValue(members, forKey: found.bundle) == nil, "\(key): \(members)")
      // The record of a region has it as text.
      let read = try #require(CutIdentity(try JSONValue(parsing: found.identity.json.bytes)))
      #expect(read.digest == found.identity.digest && found.identity.difference(from: read) == nil, "\(members)")
    }
    // Nothing depends on these.
    for members in [#""priceTier": "gold", \#(Self.sources)"#, #""packBytes": 300000, \#(Self.sources)"#] {
      #expect(try prints(members).bundle == prints().bundle)
    }
    #expect(try prints(#""packBytes": 300000, \#(Self.sources)"#).packs != prints().packs)
    let preview = try prints(#""preview": {"width": 99}, \#(Self.sources)"#)
    #expect(try preview.bundle == prints().bundle && preview.preview != prints().preview)
  }

  @Test func filesToolsAndLibrariesCount() throws {
    let drawn = Self.layers(#"[{"type": "line"}]"#, #", "images": {"hut": "hut.svg"}"#)
    let members = #""gazetteers": ["places.csv"], \#(drawn)"#
    var before = try prints(members)
    #expect(try prints(members).bundle == before.bundle)
    for (name, word) in [
      ("a.tif", "a.tif has changed"), ("a.tfw", "a.tif has changed"), ("trip.gpx", "trip.gpx has changed"),
      ("hut.svg", "hut.svg has changed"), ("places.csv", "places.csv has changed"),
    ] {
      try folder.write(name, "changed")
      let after = try prints(members)
      #expect(after.bundle != before.bundle && after.preview != before.preview && after.packs != before.packs)
      #expect(after.identity.difference(from: before.identity)?.contains(word) == true, "\(name)")
      before = after
    }
    let library = try prints(members, library: "2")
    #expect(library.identity.difference(from: before.identity)?.contains("another PROJ") == true)
    let tool = try prints(members, tool: "2")
    #expect(tool.identity.difference(from: before.identity)?.contains("tilecut 1 (6), and this is 2 (6)") == true)
    #expect(Set([before.bundle, library.bundle, tool.bundle]).count == 3)
    // Files may move.
    let other = try RegionIdentityTests()
    for name in ["a.tif", "a.tfw", "trip.gpx", "hut.svg", "places.csv"] { try other.folder.write(name, "changed") }
    #expect(try other.prints(members).bundle == before.bundle)
  }

  /// Fonts are looked for again when others are installed than when the region was made.
  @Test func fontsAreTakenFromTheRecordWhileTheSameOnesAreInstalled() throws {
    let members = Self.layers(#"[{"type": "symbol", "layout": {"text-field": "x"}}]"#)
    let path = try folder.write(
      "regions.json", #"{"regions": [{"id": "a", "title": "A", "category": "c", \#(members)}]}"#)
    let manifest = try RegionManifest(path: path)
    let options = CatalogBuildOptions(manifest: manifest, output: folder.file("out"), toolVersion: "1")
    let (region, hashes) = (manifest.regions[0], InputHashes(file: folder.file("hashes")))
    let font = LibraryIdentity(name: "font Open Sans", version: "0123456789abcdef")
    let libraries = LibraryIdentity.all(for: CutOptions(of: region, in: manifest)) + [font]
    let made = try RegionFingerprints(region, options, hashes, libraries: libraries)
    let facts = Catalog.BundleFacts(bounds: [0, 0, 1, 1], zooms: 0...1, format: .png, tileCount: 1, tilesHash: "")
    var record = RegionRecord(
      bundle: RegionRecord.Piece(fingerprint: made.bundle, files: []), identity: made.identity, facts: facts)
    struct Asked: Error {}
    func again() throws -> RegionFingerprints {
      try RegionFingerprints(region, options, hashes, known: record) { throw Asked() }
    }
    #expect(throws: Asked.self) { try again() }
    record.installedFonts = LibraryIdentity.installedFonts
    #expect(try again().bundle == made.bundle)
    record.installedFonts = "others"
    #expect(throws: Asked.self) { try again() }
    record.installedFonts = LibraryIdentity.installedFonts
    try folder.write("trip.gpx", "other texts")
    #expect(throws: Asked.self) { try again() }
  }

  /// As builds wrote them before identities were kept.
  @Test func recordsOfEarlierBuildsAreReadAndSaidToBeOld() throws {
    let path = try folder.write(
      "record.json",
      #"""
      {"bundle": {"fingerprint": "1ff0", "files": []}, "facts": {"bounds": [10, 47, 13, 50], "zooms": [0, 7], \#
      "format": "png", "tileCount": 19, "tilesHash": "93f7"}, "packEntries": [], "patchEntries": []}
      """#)
    let record = try #require(RegionRecord(path: path))
    #expect(record.identity == nil && record.facts.tileCount == 19)
    let reason = try prints().reason(after: record)
    #expect(reason == "earlier builds did not note fonts and libraries")
    #expect(try prints().reason(after: nil) == nil)
  }
}
