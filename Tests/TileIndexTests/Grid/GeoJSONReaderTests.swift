import Support
import Testing

@testable import TileIndex

struct GeoJSONReaderTests {
  private func read(
    _ text: String, properties: Set<String>? = nil, onlyFeatures: Bool = false
  ) throws -> [GeoJSONReader.Feature] {
    var features: [GeoJSONReader.Feature] = []
    try GeoJSONReader.read(MemoryBytes(Array(text.utf8)), properties: properties, onlyFeatures: onlyFeatures) {
      features.append($0)
    }
    return features
  }

  @Test func geometriesAreRead() throws {
    let ring = "[[0, 0], [4, 0], [4, 4], [0, 0]]"
    let square: [SIMD2<Double>] = [SIMD2(0, 0), SIMD2(4, 0), SIMD2(4, 4), SIMD2(0, 0)]
    let cases: [(String, GeoJSONGeometry)] = [
      (#"{"type": "Point", "coordinates": [1.5, -2, 700]}"#, .points([SIMD2(1.5, -2)])),
      (#"{"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}"#, .points([SIMD2(1, 2), SIMD2(3, 4)])),
      (#"{"type": "LineString", "coordinates": [[1, 2], [3, 4]]}"#, .lines([[SIMD2(1, 2), SIMD2(3, 4)]])),
      (
        #"{"type": "MultiLineString", "coordinates": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}"#,
        .lines([[SIMD2(1, 2), SIMD2(3, 4)], [SIMD2(5, 6), SIMD2(7, 8)]])
      ),
      (#"{"type": "Polygon", "coordinates": [\#(ring)]}"#, .polygons([Polygon(rings: [square])])),
      (
        #"{"type": "MultiPolygon", "coordinates": [[\#(ring), \#(ring)], [\#(ring)]]}"#,
        .polygons([Polygon(rings: [square, square]), Polygon(rings: [square])])
      ),
      (
        #"{"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [1, 2]}]}"#,
        .collection([.points([SIMD2(1, 2)])])
      ),
    ]
    for (text, geometry) in cases {
      #expect(try read(text).map(\.geometry) == [geometry])
      #expect(try GeoJSONGeometry(JSONValue(parsing: Array(text.utf8)), at: "here") == geometry)
    }
  }

  /// What comes before the type is read twice.
  @Test func membersMayBeInAnyOrder() throws {
    let text = #"""
      {"features": [
        {"properties": {"name": "a", "rank": 2}, "geometry": {"coordinates": [[1, 2], [3, 4]], "type": "LineString"},
          "type": "Feature", "id": 7},
        {"geometry": null, "type": "Feature", "properties": null}
      ], "bbox": [1, 2, 3, 4], "type": "FeatureCollection", "name": {"type": "none"}}
      """#
    let features = try read(text)
    #expect(features.map(\.geometry) == [.lines([[SIMD2(1, 2), SIMD2(3, 4)]]), nil])
    #expect(features[0].properties == [.init("name", .string("a")), .init("rank", .number("2"))])
    #expect(try read(text, properties: ["rank", "class"])[0].properties.map(\.name) == ["rank"])
    #expect(try read(text, properties: [])[0].properties.isEmpty)
  }

  @Test(arguments: [
    (#"{"type": "Point"}"#, "document.coordinates: is missing"), ("{}", "document.type: is missing"),
    ("7", "document.type: is missing"), (#"{"type": "Feature", "geometry": 7}"#, "geometry.type: is missing"),
    (#"{"geometry": true, "type": "Feature"}"#, "geometry.type: is missing"),
    (#"{"type": "Circle", "coordinates": [1, 2]}"#, #"document.type: "Circle" is no GeoJSON geometry"#),
    (#"{"type": "Point", "coordinates": [1]}"#, "document.coordinates: is no position"),
    (#"{"type": "Point", "coordinates": ["1", 2]}"#, "document.coordinates: is no position"),
    (#"{"type": "MultiPoint", "coordinates": [[1, 2], [1, 91]]}"#, "document.coordinates[1]: [1, 91] lies nowhere"),
    (#"{"type": "LineString", "coordinates": [[1, 2]]}"#, "document.coordinates: is a line of one position"),
    (#"{"type": "LineString", "coordinates": []}"#, "document.coordinates: is missing, empty or no list"),
    (
      #"{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "MultiPolygon", "#
        + #""coordinates": [[[[0, 0], [1, 1], [0, 1], [0, 0]], [[0, 0], [1, 1], [0, 0]]]]}}]}"#,
      "features[0].geometry.coordinates[0][1]: is no ring"
    ),
    (
      #"{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null}, {"type": "Feature", "#
        + #""geometry": {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": 1}]}}]}"#,
      "features[1].geometry.geometries[0].coordinates: is no position"
    ),
    (#"{"type": "FeatureCollection", "features": [3]}"#, "features[0].type: is missing"),
    (
      #"{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::4267"}}, "#
        + #""features": []}"#, "crs: is urn:ogc:def:crs:EPSG::4267; write degrees of WGS 84"
    ),
  ])
  func faultsNameTheirPlace(_ text: String, message: String) {
    let error = #expect(throws: GeoJSONGeometry.Fault.self) { try read(text) }
    #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    (#"{"type": "FeatureCollection", "features": [{"type": "Point", "coordinates": [1, 2]}]}"#, "features[0]: is no"),
    (#"{"type": "FeatureCollection", "features": [{"type": "FeatureCollection"}]}"#, "features[0]: is no Feature"),
    (#"{"type": "Feature"}"#, "geometry: is missing"),
  ])
  func outlinesAreFeatures(_ text: String, message: String) throws {
    let error = #expect(throws: GeoJSONGeometry.Fault.self) { try read(text, onlyFeatures: true) }
    #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    #expect(throws: GeoJSONGeometry.Fault.self) { try GeoJSONGeometry.polygons(in: MemoryBytes(Array(text.utf8))) }
  }

  @Test(arguments: ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4269"])
  func systemsNearWGS84AreRead(_ name: String) throws {
    let crs = "{\"type\": \"name\", \"properties\": {\"name\": \"\(name)\"}}"
    let feature = #"{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2]}}"#
    let text = "{\"type\": \"FeatureCollection\", \"crs\": \(crs), \"features\": [\(feature)]}"
    #expect(try read(text).count == 1)
    #expect(try read(text.replacing("\"crs\": \(crs)", with: "\"crs\": null")).count == 1)
  }

  @Test func collectionsNestToALimit() throws {
    func nested(_ depth: Int) -> String {
      depth == 0
        ? #"{"type": "Point", "coordinates": [1, 2]}"#
        : #"{"type": "GeometryCollection", "geometries": [\#(nested(depth - 1))]}"#
    }
    #expect(try read(nested(7)).count == 1)
    #expect(throws: GeoJSONGeometry.Fault.self) { try read(nested(8)) }
  }
}
