import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct TileJSONTests {
  static func parsed(_ bytes: [UInt8]) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }

  @Test func hasTheRequiredMembers() throws {
    let info = Samples.info(
      id: "a b/é", name: "Park", metadata: ["description": "all of it", "attribution": "A & B", "version": "2"])
    let json = try Self.parsed(TileJSON.document(info, at: Samples.address))
    #expect(json["tilejson"] as? String == "3.0.0")
    #expect(json["tiles"] as? [String] == ["https://maps.example.org/tiles/a%20b%2F%C3%A9/{z}/{x}/{y}.png"])
    #expect(json["scheme"] as? String == "xyz")
    #expect(json["name"] as? String == "Park")
    #expect(json["description"] as? String == "all of it")
    #expect(json["attribution"] as? String == "A & B")
    #expect(json["version"] as? String == "2.0.0")
    #expect(json["minzoom"] as? Int == 0)
    #expect(json["maxzoom"] as? Int == 10)
    #expect(json["bounds"] as? [Double] == [-106, 39, -105, 40.5])
    #expect(json["center"] as? [Double] == [-105.5, 40, 8])
    #expect(json["format"] as? String == "png")
    #expect(json["tileSize"] as? Int == 256)
    #expect(json["vector_layers"] == nil)
    #expect(json["crs"] == nil)
    #expect(json["tileMatrixSet"] == nil)
  }

  @Test(
    arguments: [
      ("1", "1.0.0"), ("1.2", "1.2.0"), ("1.2.3", "1.2.3"), ("0", "0.0.0"), ("1.0.0-beta.1+5", "1.0.0-beta.1+5"),
      ("v1", nil), ("01", nil), ("1.", nil), ("", nil), ("1.2.3.4", nil), ("1-2", nil), ("2024 spring", nil),
      ("1.0.0-é", nil),
    ] as [(String, String?)])
  func versionsAreSemanticOrAbsent(text: String, version: String?) {
    #expect(TileJSON.semanticVersion(text) == version)
  }

  /// Unknown rows are included; names with a meaning in TileJSON are not.
  @Test func unknownRowsAreIncluded() throws {
    let rows = [
      "encoding": "terrarium", "elevation_unit": "m", "baseShift": "-10000",
      "tiles": "https://evil.example/{z}/{x}/{y}",
      "tilejson": "1", "TileSize": "64", "tileSize": "64", "scheme": "tms", "minzoom": "7",
      "json": #"{"tilestats":{}}"#,
      "type": "overlay", "template": "<script>alert(1)</script>", "legend": "<img onerror=alert(1)>", "grids": "x",
      "places": "https://evil.example", "crs": "EPSG:9999", "tile_matrix_set": "x", "vector_layers": "[]",
      "__proto__": "x", "": "x", "a b": "x", "é": "x", "generator": String(repeating: "y", count: 5000),
    ]
    let document = try Self.parsed(TileJSON.document(Samples.info(metadata: rows), at: Samples.address))
    #expect(document["encoding"] as? String == "terrarium" && document["elevation_unit"] as? String == "m")
    #expect(document["baseShift"] as? String == "-10000")
    #expect(document["tileSize"] as? Int == 256 && document["minzoom"] as? Int == 0)
    #expect(document["scheme"] as? String == "xyz" && document["tilejson"] as? String == "3.0.0")
    #expect(document["tiles"] as? [String] == ["https://maps.example.org/tiles/park/{z}/{x}/{y}.png"])
    let known: Set<String> = [
      "tilejson", "tiles", "scheme", "name", "minzoom", "maxzoom", "bounds", "center", "format", "tileSize", "encoding",
      "elevation_unit", "baseShift", "vector_layers",
    ]
    #expect(Set(document.keys).subtracting(known).isEmpty, "\(document.keys)")
  }

  @Test func numberOfUnknownRowsIsLimited() throws {
    let rows = Dictionary(uniqueKeysWithValues: (0..<500).map { ("row\($0)", "x") })
    let document = try Self.parsed(TileJSON.document(Samples.info(metadata: rows), at: Samples.address))
    #expect(document.count < 100 && document["tiles"] != nil)
  }

  @Test func vectorLayersComeFromTheMetadata() throws {
    let layers =
      #"{"vector_layers":[{"id":"roads","fields":{"kind":"String"},"minzoom":3},{"id":"lakes"},{"fields":{}},7]}"#
    let json = try Self.parsed(
      TileJSON.document(Samples.info(metadata: ["json": layers], format: .pbf), at: Samples.address))
    let found = try #require(json["vector_layers"] as? [[String: Any]])
    #expect(found.map { $0["id"] as? String } == ["roads", "lakes"])
    #expect(found[0]["fields"] as? [String: String] == ["kind": "String"])
    #expect(found[0]["minzoom"] as? Int == 3)
    #expect((found[1]["fields"] as? [String: Any])?.isEmpty == true)
  }

  @Test(arguments: [nil, "not json", "[]", "{\"vector_layers\": 3}", String(repeating: "[", count: 100_000)])
  func vectorTilesetsAlwaysHaveTheMember(json: String?) throws {
    let info = Samples.info(metadata: json.map { ["json": $0] } ?? [:], format: .pbf)
    #expect((try Self.parsed(TileJSON.document(info, at: Samples.address))["vector_layers"] as? [Any])?.isEmpty == true)
  }

  @Test func otherGridsAreNamed() throws {
    let json = try Self.parsed(
      TileJSON.document(Samples.info(matrixSet: .worldCRS84Quad), at: Samples.address))
    #expect(json["crs"] as? String == "OGC:CRS84")
    let set = try #require(json["tileMatrixSet"] as? [String: Any])
    #expect(set["id"] as? String == "WorldCRS84Quad")
    #expect(set["uri"] as? String == "http://www.opengis.net/def/tilematrixset/OGC/1.0/WorldCRS84Quad")
    #expect(set["tileMatrices"] == nil)
  }

  @Test func unregisteredGridsAreDefined() throws {
    let info = Samples.info(matrixSet: try Samples.degrees(), zooms: 0...2)
    let set = try #require(
      try Self.parsed(TileJSON.document(info, at: Samples.address))["tileMatrixSet"] as? [String: Any])
    let levels = try #require(set["tileMatrices"] as? [[String: Any]])
    #expect(levels.map { $0["cellSize"] as? Double } == [0.125, 0.03125, 0.00625])
    #expect(levels.map { $0["tileWidth"] as? Int } == [256, 256, 320])
    #expect(levels.map { $0["matrixHeight"] as? Int } == [6, 23, 90])
    #expect(levels.map { $0["pointOfOrigin"] as? [Double] } == [[-180, 90], [-180, 90], [-180, 90]])
  }

  @Test func creditsWithTagsAreReducedToTextAndLinks() throws {
    let info = Samples.info(metadata: [
      "attribution":
        #"<b onclick="x()">©</b> <a href='https://a.example/?x=1&amp;y'>A</a><script>alert("</b>")</script>"#
    ])
    let json = try Self.parsed(TileJSON.document(info, at: Samples.address))
    #expect(
      json["attribution"] as? String
        == #"© <a href="https://a.example/?x=1&amp;y" rel="noopener noreferrer" target="_blank">A</a>"#)
  }

  @Test(arguments: [
    BoundingBox(west: 170, south: -10, east: -170, north: 10),
    BoundingBox(west: -200, south: -10, east: -170, north: 10),
    BoundingBox(west: .nan, south: 0, east: .infinity, north: 1), BoundingBox(west: 5, south: 50, east: 5, north: 50),
    BoundingBox(west: -180, south: -90, east: 180, north: 90),
    BoundingBox(west: 1e300, south: -1e300, east: 1e301, north: 1e300),
  ])
  func boundsAndCenterAlwaysMakeSense(bounds: BoundingBox) throws {
    let info = Samples.info(bounds: bounds, center: .init(longitude: 1e9, latitude: .nan, zoom: 99))
    let json = try Self.parsed(TileJSON.document(info, at: Samples.address))
    let box = try #require(json["bounds"] as? [Double])
    #expect(box[0] >= -180 && box[0] < box[2] && box[2] <= 180)
    #expect(box[1] >= -85.06 && box[1] < box[3] && box[3] <= 85.06)
    let center = try #require(json["center"] as? [Double])
    #expect(center[0] >= box[0] && center[0] <= box[2] && center[1] >= box[1] && center[1] <= box[3])
    #expect(center[2] == 10)
  }

  @Test func theListHasTilesetsAndFailures() throws {
    let json = try Self.parsed(
      TilesetList.document(
        [Samples.info(id: "a b")], failures: [("x\"y", "half <copied>")], at: Samples.address))
    let entry = try #require((json["tilesets"] as? [[String: Any]])?.first)
    #expect(entry["id"] as? String == "a b")
    #expect(entry["tilejson"] as? String == "https://maps.example.org/tiles/a%20b.json")
    #expect(entry["viewer"] as? String == "https://maps.example.org/tiles/a%20b/")
    #expect(entry["tileMatrixSet"] as? String == "WebMercatorQuad")
    #expect(entry["modified"] as? Int == 1_700_000_000)
    #expect(json["unavailable"] as? [[String: String]] == [["id": "x\"y", "reason": "half <copied>"]])
  }
}
