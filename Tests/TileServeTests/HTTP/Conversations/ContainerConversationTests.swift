import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// A client cannot tell which container its tiles lie in.
@Suite(.ownThread) struct ContainerConversationTests {
  /// What a server says of one bundle: by request, the status, the fields and the body.
  private func answers(_ path: String, _ requests: [String]) async throws -> [String: String] {
    var answers: [String: String] = [:]
    try await serving([path]) { (served) async throws in
      let port = served.port
      let connection = try served.connect()
      for request in requests {
        let response = try connection.request(request)
        // The dates are the files'.
        let fields = response.fields.filter { !["Date", "Last-Modified"].contains($0.name) }
          .map { "\($0.name): \($0.value)" }
        let body =
          request.hasSuffix("json") || request.hasSuffix("xml")
          ? response.text.replacingOccurrences(of: ":\(port)", with: "") : "\(response.body)"
        answers[request] = ([response.statusLine] + fields + [body]).joined(separator: "\n")
          .replacingOccurrences(of: ":\(port)", with: "")
      }
    }
    return answers
  }

  @Test(arguments: [
    (TileFormat.png, TileMatrixSet.webMercatorQuad), (.webp, .webMercatorQuad), (.jpg, .worldCRS84Quad),
    (.png, .degrees),
  ])
  func everyContainerGivesTheSameAnswers(_ format: TileFormat, _ set: TileMatrixSet) async throws {
    let folder = try TemporaryFolder()
    for name in ["o", "m", "p", "f", "g"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    let zooms = set == .degrees ? 0...0 : 0...2
    let edge = set == .degrees ? 288 : 64
    let hole = TileID(unchecked: zooms.upperBound, 0, 1)
    let original = try folder.writeBundle(
      "o/map.mbtiles", format, zooms: zooms, edge: edge, hollow: format == .webp, matrixSet: set,
      without: set == .worldCRS84Quad ? [] : [hole],
      metadata: BundleMetadata(
        name: "Ä & map", description: "two\nlines", attribution: "© us", version: "7",
        bounds: BoundingBox(west: -170.25, south: -60.5, east: 170.125, north: 70), extra: ["edition": "2"]))
    let path = folder.file("m/map.mbtiles")
    var paths = [path, folder.file("f/map/"), folder.file("g/map.gpkg")]
    if set == .webMercatorQuad { paths.append(folder.file("p/map.pmtiles")) }
    // All with the hash of their tiles.
    for copy in paths { try BundleConvert().write(BundleFile.open(original), to: copy) }
    let tiles = zooms.flatMap { zoom in
      set.wholeRange(zoom: zoom).map { "/map/\($0.zoom)/\($0.column)/\($0.row).\(format.fileExtension)" }
    }
    let requests =
      tiles + [
        "/map.json", "/wmts/1.0.0/WMTSCapabilities.xml", "/map/0/0/0@2x.png", "/map/9/0/0.png", "/map/0/0/0.pbf",
      ]
    let expected = try await answers(path, requests)
    #expect(tiles.count { expected[$0]?.hasPrefix("HTTP/1.1 200 OK") == true } >= tiles.count - 1)
    for other in paths.dropFirst() {
      let found = try await answers(other.hasSuffix("/") ? String(other.dropLast()) : other, requests)
      for request in requests { #expect(found[request] == expected[request], "\(other) \(request)") }
    }
  }

  /// A GeoPackage without tiles is no tileset, and does not disturb the others of its folder.
  @Test func vectorGeoPackagesAreRefusedAlone() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("map.mbtiles", zooms: 0...0)
    try BundleConvert().write(BundleFile.open(folder.file("map.mbtiles")), to: folder.file("tiles.gpkg"))
    try folder.write("roads.gpkg", bytes: [])
    let database = try Database(folder.file("roads.gpkg"))
    try database.execute(
      """
      PRAGMA application_id = 1196444487; CREATE TABLE gpkg_contents (table_name, data_type);
      INSERT INTO gpkg_contents VALUES ('roads', 'features');
      """)
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/tiles/0/0/0.png").status == 200)
      #expect(try served.get("/map/0/0/0.png").status == 200)
      let refused = try served.get("/roads.json")
      #expect(refused.status == 503 && refused.text.contains("no raster tiles"), "\(refused.text)")
    }
  }
}
