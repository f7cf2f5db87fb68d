import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct GazetteerFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func places(_ text: String) throws -> [Place] { try GazetteerFile.places(inFile: folder.write("list", text)) }

  private static func feature(_ properties: String, _ geometry: String) -> String {
    #"{"type": "Feature", "properties": \#(properties), "geometry": \#(geometry)}"#
  }

  private static func collection(_ features: String...) -> String {
    #"{"type": "FeatureCollection", "features": [\#(features.joined(separator: ",\n"))]}"#
  }

  @Test func geoJSONHasNameKindAndImportance() throws {
    let point = #"{"type": "Point", "coordinates": [8.5, 47.4, 400]}"#
    let found = try places(
      "\u{feff}"
        + Self.collection(
          Self.feature(#"{"name": "Zürich", "kind": "city", "importance": 0.75}"#, point),
          Self.feature(#"{"name": "Town", "population": 100000}"#, point),
          Self.feature(#"{"kind": "nameless"}"#, point), Self.feature(#"{"name": "Nowhere"}"#, "null"),
          Self.feature(#"{"name": "East"}"#, #"{"type": "Point", "coordinates": [190, 5]}"#)))
    #expect(
      found[0] == Place(name: "Zürich", kind: "city", longitude: 8.5, latitude: 47.4, importance: 0.75))
    #expect(found.map(\.name) == ["Zürich", "Town", "East"] && abs(found[1].importance - 5 / 7.5) < 1e-9)
    #expect(found[2].longitude == -170)
  }

  /// The last polygon is a horseshoe, whose centroid is outside.
  @Test(arguments: [
    (#"{"type": "LineString", "coordinates": [[0, 0], [10, 0], [10, 10]]}"#, 10.0, 0.0),
    (#"{"type": "MultiLineString", "coordinates": [[[50, 50], [51, 50]], [[0, 0], [4, 0]]]}"#, 2.0, 0.0),
    (#"{"type": "MultiPoint", "coordinates": [[3, 4], [9, 9]]}"#, 3.0, 4.0),
    (#"{"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]}"#, 2.0, 2.0),
    (
      #"""
      {"type": "MultiPolygon", "coordinates": [[[[20, 20], [21, 20], [21, 21], [20, 20]]], \#
      [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]]}
      """#,
      2.0, 2.0
    ),
    (
      #"""
      {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 1], [1, 1], [1, 9], [9, 9], [9, 10], [0, 10], [0, 0]]]}
      """#,
      0.5, 5.0
    ),
    (#"{"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [7, 8]}]}"#, 7.0, 8.0),
  ])
  func geometriesAreRepresentedByOnePoint(_ geometry: String, _ longitude: Double, _ latitude: Double) throws {
    let place = try #require(try places(Self.collection(Self.feature(#"{"name": "x"}"#, geometry))).first)
    #expect(abs(place.longitude - longitude) < 1e-9 && abs(place.latitude - latitude) < 1e-9, "\(place)")
  }

  private static func line(
    _ name: String, _ latitude: String, _ longitude: String, _ code: String, _ population: String
  ) -> String {
    [
      "5419384", name, name, "", latitude, longitude, String(code.prefix(1)), String(code.dropFirst(2)), "US", "", "CO",
      "031", "", "",
      population, "", "1600", "America/Denver", "2024-01-01",
    ].joined(separator: "\t")
  }

  @Test func geoNamesCodesGiveKindAndImportance() throws {
    let found = try places(
      "# comment\n" + Self.line("Denver", "39.73915", "-104.9847", "P.PPLA", "715522") + "\r\n"
        + Self.line("Longs Peak", "40.25498", "-105.61514", "T.MT", "0") + "\n\n"
        + Self.line("Nederland", "39.96138", "-105.51083", "P.PPL", "1522") + "\n")
    #expect(found.map(\.name) == ["Denver", "Longs Peak", "Nederland"])
    #expect(found.map(\.kind) == ["city", "peak", "village"])
    #expect(found[0].latitude == 39.73915 && found[0].longitude == -104.9847)
    #expect(found[0].importance > found[2].importance && found[2].importance > found[1].importance)
    #expect(found[0].importance < 1)
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let text: String
    let place: String?
    let word: String
    var testDescription: String { word }
  }

  static let bad = [
    Bad(text: "", place: nil, word: "empty"), Bad(text: "[1]", place: nil, word: "list"),
    Bad(text: "{\n\"type\": \"FeatureCollection\",\n", place: "line", word: "not valid JSON"),
    Bad(text: #"{"type": "Topology"}"#, place: "type", word: "neither"),
    Bad(text: #"{"type": "FeatureCollection"}"#, place: "features", word: "missing"),
    Bad(text: collection(#"{"type": "Point"}"#), place: "features[0]", word: "no Feature"),
    Bad(
      text: collection(feature("{}", #"{"type": "Point", "coordinates": [1, 2]}"#)), place: nil,
      word: "not one of its 1"),
    Bad(
      text: collection(feature(#"{"name": 7}"#, "null")), place: "features[0].properties.name", word: "no text"),
    Bad(
      text: collection(feature(#"{"name": "x"}"#, #"{"type": "Point", "coordinates": ["a", 2]}"#)),
      place: "features[0].geometry.coordinates", word: "no position"),
    Bad(
      text: collection(feature(#"{"name": "x"}"#, #"{"type": "Point", "coordinates": [47, 120]}"#)),
      place: "features[0].geometry.coordinates", word: "nowhere on Earth"),
    Bad(
      text: collection(feature(#"{"name": "x", "importance": 3}"#, #"{"type": "Point", "coordinates": [1, 2]}"#)),
      place: "features[0].properties.importance", word: "outside 0 to 1"),
    Bad(
      text: collection(feature(#"{"name": "x"}"#, #"{"type": "Circle", "coordinates": [1, 2]}"#)),
      place: "features[0].geometry.type",
      word: "Circle"),
    Bad(text: "name,lon,lat\nx,1,2\n", place: "line 1", word: "1 columns"),
    Bad(
      text: line("A", "1", "2", "P.PPL", "5") + "\n" + line("B", "north", "2", "P.PPL", "5"), place: "line 2",
      word: "latitude \"north\""),
    Bad(text: line("A", "1", "200", "P.PPL", "5"), place: "line 1", word: "longitude"),
    Bad(text: line("A", "1", "2", "P.PPL", "many"), place: "line 1", word: "population"),
    Bad(text: line("", "1", "2", "P.PPL", "5"), place: "line 1", word: "no name"),
  ]

  @Test(arguments: bad) func malformedListsAreReportedWithTheirPosition(_ bad: Bad) throws {
    let error = #expect(throws: GazetteerError.self) { try places(bad.text) }
    #expect(error?.code == .malformed && error?.path == folder.file("list"), "\(error!)")
    #expect(error?.message.contains(bad.word) == true && error?.remedy?.isEmpty == false, "\(error!)")
    if let place = bad.place { #expect(error?.message.hasPrefix(place) == true, "\(error!)") }
  }

  @Test func otherEncodingsAreReported() throws {
    let path = try folder.write(
      "latin",
      bytes: Array(Self.line("Z", "1", "2", "P.PPL", "5").utf8) + [10]
        + Array("1\tZ\u{fc}".unicodeScalars.map { UInt8($0.value) })
        + Array(repeating: UInt8(ascii: "\t"), count: 17))
    let error = #expect(throws: GazetteerError.self) { try GazetteerFile.places(inFile: path) }
    #expect(error?.message.hasPrefix("line 2: ") == true, "\(error!)")
    let missing = #expect(throws: GazetteerError.self) { try GazetteerFile.places(inFile: folder.file("missing")) }
    #expect(missing?.code == .unreadable)
    #expect(throws: GazetteerError.self) { try GazetteerFile.places(inFile: folder.path) }
  }
}
