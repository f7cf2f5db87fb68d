import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

@Suite(.ownThread) struct RegionManifestTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func manifest(_ json: String) throws -> RegionManifest {
    try RegionManifest(path: try folder.write("regions.json", json))
  }

  /// Position, message and remedy of every error.
  private func complaints(_ json: String) -> [String] {
    do {
      _ = try manifest(json)
      return []
    } catch {
      return (error as? ManifestError)?.faults.map { "\($0.place) \($0.message); \($0.remedy)" } ?? ["\(error)"]
    }
  }

  private func region(_ fields: String = "", id: String = "a") -> String {
    #"{"id": "\#(id)", "title": "A", "category": "park", "sources": ["a.tif"]\#(fields)}"#
  }

  private func document(_ fields: String, _ top: String = "") -> String {
    #"{\#(top)"regions": [\#(region(fields))]}"#
  }

  /// A grid in another CRS needs someone who knows it.
  @Test func gridsMayLieInAnyCRS() throws {
    let text = document(", \"matrix\": \(GridDocument.europe.json())")
    let path = try folder.write("regions.json", text)
    let manifest = try RegionManifest(path: path) { code in
      #expect(code == "EPSG:3035")
      return SphereCRS.europe.definition
    }
    let set = manifest.regions[0].settings.cut.matrixSet
    #expect(set.crs == "EPSG:3035" && set[0].origin == SIMD2(2_000_000, 5_500_000))
    #expect(complaints(text).first?.contains("take the definition from the metadata") == true)
  }

  @Test func regionsAreRead() throws {
    let read = try manifest(document(#", "attribution": "us""#))
    #expect(read.regions.map(\.id) == ["a"])
    let settings = read.regions[0].settings
    #expect(settings.cut.sources == ["a.tif"] && settings.cut.attribution == "us" && settings.cut.version == nil)
    #expect(read.regions[0].description == nil && read.regions[0].productID == "a")
    #expect(settings.edition == "1" && settings.cut.zoom == .native && settings.cut.matrixSet == .webMercatorQuad)
    #expect(read.resolved("a.tif") == folder.file("a.tif") && read.resolved("/b.tif") == "/b.tif")
  }

  /// As `--bounds` are.
  @Test(arguments: [
    ([175, -18, 185, -12], [175, -18, -175, -12]), ([-185, -18, -175, -12], [175, -18, -175, -12]),
    ([190, 1, 200, 2], [-170, 1, -160, 2]), ([170, 1, -180, 2], [170, 1, 180, 2]),
    ([-300, 1, 300, 2], [-180, 1, 180, 2]),
    ([10, 1, 20, 2], [10, 1, 20, 2]),
  ]) func longitudesAreThoseATurnAway(_ given: [Double], _ expected: [Double]) throws {
    let numbers = given.map { "\($0)" }.joined(separator: ", ")
    let bounds = try #require(try manifest(document(", \"bounds\": [\(numbers)]")).regions[0].bounds)
    #expect([bounds.west, bounds.south, bounds.east, bounds.north] == expected)
  }

  /// A region's keys override its category's, and those override the defaults.
  @Test func specificSettingsOverrideGeneralOnes() throws {
    let read = try manifest(
      """
      {"defaults": {"edition": "2026.1", "zoom": [0, 3], "format": "jpeg", "quality": 70, "attribution": "all",
          "preview": {"width": 300}},
       "categories": {"park": {"zoom": [2, 9], "priceTier": "low", "preview": {"zoom": 4}}, "city": {"zoom": 7}},
       "regions": [
         {"id": "a", "title": "A", "category": "park", "sources": ["a.tif"]},
         {"id": "b", "title": "B", "category": "park", "sources": ["a.tif"], "zoom": 5, "format": "png",
          "attribution": "mine", "edition": "2"},
         {"id": "c", "title": "C", "category": "city", "sources": ["a.tif"], "format": "webp"}]}
      """)
    let (a, b, c) = (read.regions[0].settings, read.regions[1].settings, read.regions[2].settings)
    #expect(a.cut.zoom == .levels(2...9) && a.cut.encoding == .jpeg(JPEGOptions(quality: 70)))
    #expect(a.priceTier == "low" && a.edition == "2026.1" && a.cut.version == "2026.1")
    #expect(a.preview == RegionSettings.Preview(zoom: 4, width: 300))
    #expect(b.cut.zoom == .levels(5...5) && b.cut.encoding == .png(PNGOptions()) && b.cut.attribution == "mine")
    #expect(b.edition == "2" && b.cut.version == "2")
    #expect(c.cut.zoom == .levels(7...7) && c.cut.encoding == TileEncoding(.webp) && c.priceTier == nil)
  }

  @Test func gridsAreReferencedOrDefined() throws {
    let named = try manifest(document(#", "matrix": "WorldCRS84Quad""#))
    #expect(named.regions[0].settings.cut.matrixSet == .worldCRS84Quad)
    let own = try manifest(
      document(#", "matrix": {"id": "Levels", "tileEdges": [8, 2, 0.5], "tileSizes": [288]}"#)
    ).regions[0].settings.cut.matrixSet
    #expect(own.identifier == "Levels" && own.ratio(below: 0) == 4 && own[2].tileWidth == 288)
    #expect(own.uri == "urn:tile-matrix-set:Levels")
  }

  @Test func boundariesAreInlineOrFiles() throws {
    let polygon = #"{"type": "Polygon", "coordinates": [[[10, 40], [20, 40], [20, 50], [10, 40]]]}"#
    try folder.write("outline.geojson", #"{"type": "Feature", "properties": {}, "geometry": \#(polygon)}"#)
    for value in [polygon, #""outline.geojson""#] {
      let boundary = try #require(try manifest(document(", \"boundary\": \(value)")).regions[0].boundary)
      #expect(boundary.bounds == BoundingBox(west: 10, south: 40, east: 20, north: 50))
      #expect(boundary.contains(longitude: 18, latitude: 42) && !boundary.contains(longitude: 11, latitude: 49))
    }
  }

  @Test(arguments: [
    (#"{"regions": ["#, " is not valid JSON: line 1: the text ends early"),
    (#"{"regions": []"#, " is not valid JSON: line 1"), ("[]", " is an array, not an object"),
    (#"{"region": []}"#, #"region is no key that is known here; did you mean "regions"?"#),
    (#"{"regions": []}"#, "regions is empty"), (#"{"regions": {}}"#, "regions is an object, not an array"),
    (#"{"regions": [7]}"#, "regions[0] is a number, not an object"),
    (#"{"regions": [{"id": "a", "title": "A", "sources": ["x"]}]}"#, "regions[0].category is missing"),
    (#"{"regions": [{"id": 3, "title": "A", "category": "c", "sources": ["x"]}]}"#, "regions[0].id is a number, not"),
    (#"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": []}]}"#, "regions[0].sources is empty"),
    (#"{"regions": [{"id": "a", "title": "A", "category": "c"}]}"#, "regions[0].sources is missing"),
    (
      #"{"regions": [{"id": "a/b", "title": "A", "category": "c", "sources": ["x"]}]}"#,
      #"regions[0].id is not a usable id: "a/b""#
    ),
    (
      #"{"regions": [{"id": "..", "title": "A", "category": "c", "sources": ["x"]}]}"#,
      #"regions[0].id is not a usable id: "..""#
    ),
    (
      #"{"version": 2, "regions": [{"id": "a", "title": "A", "category": "c", "sources": ["x"]}]}"#,
      "version is 2, and only 1 is known here; "
    ),
    (
      #"{"categories": {"park": {}}, "regions": [{"id": "a", "title": "A", "category": "prak", "sources": ["x"]}]}"#,
      #"regions[0].category is none of the document's categories: "prak"; did you mean "park"?"#
    ),
    (
      #"""
      {"categories": {"p": {"zoom": "all"}}, "regions": [{"id": "a", "title": "A", "category": "p", \#
      "sources": ["x"]}]}
      """#,
      "categories.p.zoom is not an array of 2 numbers"
    ),
    (
      #"""
      {"categories": {"p": {"zoom": 3}, "p": {"zoom": 4}}, "regions": [{"id": "a", "title": "A", "category": "p", \#
      "sources": ["x"]}]}
      """#,
      "categories.p stands there twice; leave one of them out"
    ),
    (
      #"{"defaults": {"titel": 1}, "regions": [{"id": "a", "title": "A", "category": "p", "sources": ["x"]}]}"#,
      "defaults.titel is no key that is known here"
    ),
  ])
  func documentErrorsAreReportedWithTheirPosition(json: String, expected: String) {
    let found = complaints(json)
    #expect(found.contains { $0.hasPrefix(expected) }, "\(found)")
  }

  /// Members added to a region, and the expected error after `regions[0].`.
  @Test(arguments: [
    (#", "zooms": 3"#, #"zooms is no key that is known here; did you mean "zoom"?"#),
    (#", "productid": "x""#, #"productid is no key that is known here; did you mean "productId"?"#),
    (#", "title": "B""#, "title stands there twice"), (#", "description": """#, "description is empty"),
    (#", "description": "a\u0000b""#, "description holds a NUL"), (#", "zoom": [3, 1]"#, "zoom is not two whole"),
    (#", "zoom": [0, 31]"#, "zoom is not two whole"), (#", "zoom": [0.5, 2]"#, "zoom is not two whole"),
    (#", "zoom": -1"#, "zoom is -1"), (#", "matrix": "WebMercatorQad""#, #"matrix is no grid that is known here"#),
    (#", "matrix": {"id": "G", "tileEdges": [3, 2]}"#, "matrix is no grid: tile matrix set G"),
    (#", "matrix": {"id": "G"}"#, "matrix.tileEdges is missing"),
    (#", "matrix": {"id": "WebMercatorQuad", "tileEdges": [2, 1]}"#, "matrix.id is that of a built-in grid"),
    (#", "matrix": {"id": "G", "tileEdges": [8, 2], "tileSizes": [288]}, "zoom": [0, 2]"#, "zoom reaches to 2"),
    (#", "container": "folder""#, "container is not one of mbtiles, pmtiles, geopackage"),
    (#", "container": "pmtiles", "matrix": "degrees""#, "container is pmtiles, which knows Web Mercator only"),
    (#", "format": "gif""#, "format is not one of png, jpeg, webp"), (#", "quality": 80"#, "quality means nothing for"),
    (#", "effort": "smal""#, #"effort is not one of fast, balanced, small: "smal"; did you mean "small"?"#),
    (#", "format": "jpeg", "effort": "fast""#, "effort is for png alone"),
    (#", "format": "jpeg", "quality": 101"#, "quality is 101, not a whole number"),
    (
      #", "resampling": "bilinea""#,
      #"resampling is not one of nearest, bilinear, cubic, lanczos, gauss, average, mode: "bilinea"; did"#
    ),
    (#", "nodata": 0"#, "nodata is not an array of numbers"), (#", "crs": 4326"#, "crs is a number, not a string"),
    (#", "edition": 2026"#, "edition is a number"), (#", "edition": "a/b""#, "edition cannot be part of a file's name"),
    (#", "bounds": [1, 2, 3]"#, "bounds is not an array of 4 numbers"),
    (#", "bounds": [1, 2, 3, 1]"#, "bounds is no box"),
    (#", "bounds": [1, 2, 600, 4]"#, "bounds is no box"),
    (#", "packBytes": 1000"#, "packBytes is 1000, not a whole"),
    (#", "preview": {"size": 3}"#, "preview.size is no key"), (#", "preview": {"width": 9}"#, "preview.width is 9"),
    (#", "gazetteers": "x""#, "gazetteers is a string, not an array"), (#", "gazetteers": [7]"#, "gazetteers[0] is no"),
    (#", "boundary": {"type": "Point", "coordinates": [1, 2]}"#, "boundary has no Polygon"),
    (#", "boundary": {"type": "Polygon", "coordinates": [[[1, 2], [3, 4]]]}"#, "boundary.coordinates[0] is no ring"),
    (#", "boundary": "gone.geojson""#, "boundary names "), (#", "boundary": 5"#, "boundary"),
    (
      #", "bounds": [0, 0, 1, 1], "boundary": {"type": "Polygon", "coordinates": [[[5, 5], [6, 5], [6, 6], [5, 5]]]}"#,
      "bounds and boundary have no ground in common"
    ),
  ])
  func invalidKeysOfRegionsAreReported(fields: String, expected: String) {
    let found = complaints(document(fields))
    #expect(found.contains { $0.hasPrefix("regions[0].\(expected)") }, "\(found)")
    // Each error has a remedy and is reported once.
    #expect(found.allSatisfy { $0.contains("; ") } && Set(found).count == found.count, "\(found)")
  }

  @Test func allErrorsAreReportedTogether() {
    let found = complaints(
      #"{"region": 1, "regions": [{"id": "a b", "titel": "A"}, {"id": "b", "title": "", "category": 3, "sources": 3}]}"#
    )
    for place in [
      "region ", "regions[0].id ", "regions[0].titel ", "regions[0].title ", "regions[0].category ",
      "regions[0].sources ", "regions[1].title ", "regions[1].category ", "regions[1].sources ",
    ] {
      #expect(found.contains { $0.hasPrefix(place) }, "\(place) is not in \(found)")
    }
  }

  @Test func identifiersMustBeUnique() {
    #expect(
      complaints(#"{"regions": [\#(region()), \#(region())]}"#).first?.hasPrefix(#"regions[1].id repeats "a""#) == true)
    #expect(
      complaints(#"{"regions": [\#(region(#", "productId": "b""#)), \#(region(id: "b"))]}"#).first?
        .hasPrefix("regions[1].productId repeats") == true)
    let clash = complaints(
      #"{"regions": [\#(region(#", "edition": "1-2""#)), \#(region(#", "edition": "2""#, id: "A-1"))]}"#)
    #expect(clash.first?.hasPrefix("regions[1].id and edition make the file name A-1-2") == true, "\(clash)")
  }

  @Test func errorsInBoundaryFilesNameTheFile() throws {
    try folder.write("bad.geojson", #"{"type": "Polygon", "coordinates": [[[1, 2], [3, 4], [500, 6], [1, 2]]]}"#)
    #expect { try manifest(document(#", "boundary": "bad.geojson""#)) } throws: { error in
      "\(error)".hasPrefix("\(folder.file("bad.geojson")): ")
    }
  }

  @Test func missingFilesAreReported() {
    #expect { try RegionManifest(path: "/nowhere/regions.json") } throws: { error in
      (error as? ManifestError)?.code == .unreadable && "\(error)".hasPrefix("/nowhere/regions.json: cannot be read")
    }
  }

  @Test func sampleManifestIsValid() throws {
    let catalog = try RegionManifest(path: ProjectFiles.path("sample-regions/regions.json"))
    #expect(catalog.regions.count >= 12)
    #expect(Set(catalog.regions.map(\.category)).count >= 5)
  }
}
