import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

/// Styles in the form of the MapLibre style specification, and the features that they draw.
@Suite(.ownThread)
struct StyleTests {
  private func feature(_ properties: [String: StyleValue] = [:]) -> MapFeature {
    MapFeature(.lines([[SIMD2(0, 0), SIMD2(1, 1)]]), properties: properties)
  }

  private static let path: [String: StyleValue] = [
    "class": .string("path"), "lanes": .number(2), "name": .string("Ridge Trail"), "open": .bool(true),
  ]

  static let expressions: [(String, Double, StyleValue)] = [
    ("3", 0, .number(3)), (#"["get", "class"]"#, 0, .string("path")), (#"["get", "none"]"#, 0, .null),
    (#"["interpolate", ["linear"], ["zoom"], 8, 1, 12, 3]"#, 10, .number(2)),
    (#"["interpolate", ["linear"], ["zoom"], 8, 1, 12, 3]"#, 4, .number(1)),
    (#"["interpolate", ["linear"], ["zoom"], 8, 1, 12, 3]"#, 15, .number(3)),
    (#"["interpolate", ["exponential", 2], ["zoom"], 0, 0, 2, 30]"#, 1, .number(10)),
    (
      ##"["interpolate", ["linear"], ["zoom"], 0, "#000000", 10, "#ffffff"]"##, 5,
      .colour(MapColour(red: 128, green: 128, blue: 128))
    ),
    (#"{"stops": [[8, 1], [12, 3]]}"#, 10, .number(2)), (#"{"base": 2, "stops": [[0, 0], [2, 30]]}"#, 1, .number(10)),
    (#"["step", ["zoom"], "thin", 10, "thick"]"#, 9.9, .string("thin")),
    (#"["step", ["zoom"], "thin", 10, "thick"]"#, 10, .string("thick")),
    (#"["match", ["get", "class"], ["path", "track"], 1, "road", 2, 0]"#, 0, .number(1)),
    (#"["match", ["get", "name"], "x", 1, 0]"#, 0, .number(0)),
    (#"["case", [">", ["get", "lanes"], 3], 9, ["get", "open"], 5, 1]"#, 0, .number(5)),
    (#"["coalesce", ["get", "ref"], ["get", "name"]]"#, 0, .string("Ridge Trail")),
    (#"["concat", ["get", "class"], " ", ["get", "lanes"]]"#, 0, .string("path 2")),
    (#"["*", ["get", "lanes"], 1.5]"#, 0, .number(3)), (#"["in", "Trail", ["get", "name"]]"#, 0, .bool(true)),
    (#"["in", ["get", "class"], ["literal", ["path"]]]"#, 0, .bool(true)),
    (#"["literal", [2, 1]]"#, 0, .list([.number(2), .number(1)])),
    ("[2, 1]", 0, .list([.number(2), .number(1)])), (#"["geometry-type"]"#, 0, .string("LineString")),
    (#"["to-number", "7.5"]"#, 0, .number(7.5)),
  ]

  @Test(arguments: expressions)
  func expressionsHaveTheirValues(_ text: String, zoom: Double, expected: StyleValue) throws {
    let expression = try StyleExpression(JSONValue(parsing: Array(text.utf8)), at: "x")
    #expect(expression.value(zoom: zoom, feature(Self.path)) == expected)
  }

  static let filters: [(String, Bool)] = [
    (#"["==", "class", "path"]"#, true), (#"["!=", "class", "path"]"#, false),
    (#"["==", ["get", "class"], "path"]"#, true),
    (#"["in", "class", "road", "path"]"#, true), (#"["!in", "class", "road"]"#, true), (#"["has", "ref"]"#, false),
    (#"["!has", "ref"]"#, true), (#"["==", "$type", "LineString"]"#, true), (#"["==", "$type", "Point"]"#, false),
    (#"["all", [">=", "lanes", 2], ["==", "class", "path"]]"#, true),
    (#"["any", ["<", "lanes", 2], ["has", "ref"]]"#, false),
    (#"["none", ["has", "ref"]]"#, true), (#"["all", ["!", ["has", "ref"]], [">", ["get", "lanes"], 1]]"#, true),
    (#"["==", ["geometry-type"], "LineString"]"#, true), ("true", true),
  ]

  @Test(arguments: filters)
  func filtersChooseFeatures(_ text: String, expected: Bool) throws {
    let filter = try StyleExpression(filter: JSONValue(parsing: Array(text.utf8)), at: "filter")
    #expect(filter.value(zoom: 0, feature(Self.path)).isTrue == expected)
  }

  static let faults = [
    (#"{"type": "heatmap"}"#, #"type is a type of layer that is not supported: "heatmap""#),
    (#"{"paint": {}}"#, "type is missing"), ("7", "is no layer of a style"),
    (#"{"type": "line", "source-layer": "x"}"#, "source-layer is not supported"),
    (#"{"type": "line", "paint": {"line-blur": 2}}"#, "paint.line-blur is a property that is not supported for line"),
    (#"{"type": "line", "paint": {"line-colour": "red"}}"#, #"did you mean "line-color"?"#),
    (#"{"type": "line", "paint": {"line-color": "reddish"}}"#, "paint.line-color is no colour"),
    (#"{"type": "line", "paint": {"line-width": -1}}"#, "paint.line-width is not a number from"),
    (#"{"type": "line", "paint": {"line-dasharray": [0, 0]}}"#, "paint.line-dasharray is no list of lengths"),
    (#"{"type": "line", "layout": {"line-cap": "flat"}}"#, "layout.line-cap is not butt or round or square"),
    (#"{"type": "line", "minzoom": "x"}"#, "minzoom is no zoom"),
    (#"{"type": "line", "paint": {"line-width": ["heatmap-density"]}}"#, #"not supported: "heatmap-density""#),
    (
      #"{"type": "line", "paint": {"line-width": ["interpolate", ["cubic-bezier", 0, 0, 1, 1], ["zoom"], 1, 2]}}"#,
      "[1] is neither"
    ),
    (
      #"{"type": "line", "paint": {"line-width": ["interpolate", ["linear"], ["zoom"], 5, 1, 4, 2]}}"#,
      "[5] is not a number above"
    ),
    (#"{"type": "line", "paint": {"line-width": ["match", ["get", "a"], "b"]}}"#, "paint.line-width needs an input"),
    (#"{"type": "line", "filter": ["within", {}]}"#, #"filter is an expression that is not supported: "within""#),
    (#"{"type": "fill", "paint": {"fill-pattern": "dots"}}"#, "paint.fill-pattern is a property"),
    (#"{"type": "fill", "paint": "red"}"#, "paint is a string, not an object"),
    (#"{"type": "fill", "layout": []}"#, "layout is an array, not an object"),
    (
      #"{"type": "line", "paint": {"line-color": ["match", ["get", "a"], "b", "steelblu", "red"]}}"#,
      #"paint.line-color is no colour: "steelblu""#
    ),
    (
      #"{"type": "line", "paint": {"line-color": ["interpolate", ["linear"], ["zoom"], 5, "red", 9, "blau"]}}"#,
      #"paint.line-color is no colour: "blau""#
    ),
    (
      #"{"type": "line", "layout": {"line-cap": ["case", ["has", "a"], "round", "flat"]}}"#,
      #"layout.line-cap is not butt or round or square: "flat""#
    ),
    (#"{"type": "line", "layout": {"line-cap": ["step", ["zoom"], "butt", 9, "rund"]}}"#, #": "rund""#),
    (#"{"type": "line", "paint": {"line-color": ["coalesce", ["get", "c"], "blu"]}}"#, #": "blu""#),
    (#"{"type": "line", "paint": {"line-color": {"stops": [[5, "red"], [9, "bleu"]]}}}"#, #": "bleu""#),
    (
      #"{"type": "line", "paint": {"line-width": ["step", ["zoom"], ["match", ["get", "a"], "b", -4, 1], 9, 2]}}"#,
      "paint.line-width is not a number from 0 to 1000: -4"
    ),
    (
      #"{"type": "line", "layout": {"line-cap": ["interpolate", ["linear"], ["zoom"], 5, "butt", 9, "round"]}}"#,
      #"layout.line-cap cannot be interpolated; write "step""#
    ),
    (
      #"{"type": "line", "paint": {"line-width": {"stops": [[5, 1], [5, 2]]}}}"#,
      "paint.line-width.stops[1][0] is not a number above"
    ),
  ]

  /// What cannot be interpolated has the value of the stop before, and texts may name properties in it.
  @Test func zoomFunctionsOfWordsStep() throws {
    let text = #"""
      {"type": "symbol", "layout": {"text-field": {"stops": [[8, "{name}"], [12, "{name} ({lanes})"]]},
        "text-anchor": {"stops": [[8, "left"], [12, "right"]]}, "text-size": {"stops": [[8, 10], [12, 20]]},
        "text-variable-anchor": {"stops": [[8, ["top", "left"]]]}, "text-offset": {"stops": [[8, [0, 1]], [12, [0, 3]]]},
        "text-font": {"stops": [[8, ["Open Sans Regular"]]]}, "text-optional": {"stops": [[8, false], [12, true]]}}}
      """#
    let rule = try #require(
      StyleRule(try JSONValue(parsing: Array(text.utf8))) { place, message, _ in Issue.record("\(place) \(message)") })
    let path = feature(Self.path)
    #expect(
      [7, 11.9, 12].map { rule.text("text-field", zoom: $0, path) } == [
        "Ridge Trail", "Ridge Trail", "Ridge Trail (2)",
      ])
    #expect([7, 10, 12].map { rule.word("text-anchor", zoom: $0, path) } == ["left", "left", "right"])
    #expect([7, 10, 12].map { rule.number("text-size", 0, zoom: $0, path) } == [10, 15, 20])
    #expect(rule.numbers("text-offset", zoom: 10, path) == [0, 2])
    #expect(rule.names("text-variable-anchor", zoom: 9, path) == ["top", "left"])
    #expect(rule.names("text-font", zoom: 9, path) == ["Open Sans Regular"])
    #expect([8, 12].map { rule.flag("text-optional", zoom: $0, path) } == [false, true])
  }

  static let collections = [
    (#"{"type": "FeatureCollection"}"#, "features: is missing"),
    (#"{"type": "FeatureCollection", "features": {}}"#, "features: is an object, not an array"),
    (#"{"type": "FeatureCollection", "features": null}"#, "features: is"),
    (
      #"{"type": "FeatureCollection", "features": [{"type": "FeatureCollection"}]}"#,
      "features[0].features: is missing"
    ),
    ("{", "export it again"),
    (
      "{\"type\": \"FeatureCollection\", \"features\": [\n{\"type\": \"Feature\", \"geometry\": null},\n"
        + "{\"type\": \"Feature\", \"geometry\": {\"type\": \"LineString\", \"coordinates\": [[1, 2], [3]]}}]}",
      "map.geojson: features[1].geometry.coordinates[1]: is no position [longitude, latitude]; export it again"
    ),
    (
      "{\"type\": \"FeatureCollection\", \"features\": [\n{\"type\": \"Feature\", \"geometry\": null},\n{\"type\": nul}]}",
      "map.geojson: is not valid JSON: line 3: no value; export it again"
    ),
  ]

  /// What no rule names is not kept.
  @Test func propertiesThatNoRuleUsesAreNotRead() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "map.geojson",
      #"""
      {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]},
        "properties": {"a": 1, "b": "x", "c": [1, {"d": 2}], "e": null, "f": true, "g": "long"}}
      """#)
    let style = #"""
      {"type": "symbol", "filter": ["all", ["==", ["get", "a"], 1], ["has", "e"]],
        "layout": {"text-field": "{b} of {f}", "text-size": ["match", ["get", "z"], "y", 3, ["to-number", ["get", "h"]]]}}
      """#
    let rule = try #require(StyleRule(try JSONValue(parsing: Array(style.utf8))) { _, _, _ in })
    #expect(rule.propertyNames == ["a", "b", "e", "f", "h", "z"])
    let features = try FeatureFile.features(path: path, properties: rule.propertyNames)
    #expect(features.map(\.properties) == [["a": .number(1), "b": .string("x"), "f": .bool(true)]])
    #expect(try FeatureFile.features(path: path)[0].properties.count == 5)
  }

  @Test(arguments: collections) func collectionsWithoutAListAreFaults(_ text: String, message: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("map.geojson", text)
    let error = #expect(throws: TrackError.self) { try FeatureFile.features(path: path) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("track") == false)
  }

  @Test(arguments: faults)
  func whatIsNotSupportedIsNamed(_ text: String, message: String) throws {
    var messages: [String] = []
    let rule = StyleRule(try JSONValue(parsing: Array(text.utf8))) { place, message, remedy in
      messages += [place.isEmpty ? message : "\(place) \(message)", remedy]
    }
    #expect(rule == nil && messages.contains { $0.contains(message) }, "\(messages)")
  }

  @Test func rulesApplyWithinTheirZoomsAndFilters() throws {
    let text = #"{"type": "line", "minzoom": 8, "maxzoom": 12, "filter": ["==", "class", "path"]}"#
    let rule = try #require(StyleRule(try JSONValue(parsing: Array(text.utf8))) { _, _, _ in })
    #expect([7, 8, 11, 12].map { rule.applies(to: feature(Self.path), zoom: $0) } == [false, true, true, false])
    #expect(!rule.applies(to: feature(), zoom: 9))
  }

  /// As MapLibre does: each member is drawn by the rules of its kind.
  @Test(arguments: [false, true]) func membersOfACollectionAreFeatures(isReversed: Bool) throws {
    let point = #"{"type": "Point", "coordinates": [1, 2]}"#
    let polygon = #"{"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]}"#
    let lines = #"{"type": "MultiLineString", "coordinates": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}"#
    let inner = #"{"type": "GeometryCollection", "geometries": [\#(lines)]}"#
    let members = isReversed ? [inner, polygon, point] : [point, polygon, inner]
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "map.geojson",
      #"""
      {"type": "Feature", "properties": {"name": "x"}, "geometry":
        {"type": "GeometryCollection", "geometries": [\#(members.joined(separator: ","))]}}
      """#)
    let features = try FeatureFile.features(path: path)
    let kinds: [MapFeature.Kind] = [.point, .polygon, .line]
    #expect(features.map(\.kind) == (isReversed ? kinds.reversed() : kinds))
    #expect(features.map(\.partCount).reduce(0, +) == 4)
    #expect(features.allSatisfy { $0.properties["name"] == .string("x") })
  }

  /// Only elements of GPX itself have points of the file.
  @Test func pointsOfOtherProgramsAreNotDrawn() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "trip.gpx",
      """
      <gpx xmlns:o="http://example.org/o"><extensions><wpt lat="50" lon="50"/></extensions>
      <wpt lat="1" lon="2"><extensions><o:wpt lat="51" lon="51"/><name>not this</name></extensions><name>Hut</name></wpt>
      <trk><o:cut><trkseg><trkpt lat="52" lon="52"/></trkseg></o:cut><trkseg><trkpt lat="1" lon="2"/>
      <trkpt lat="2" lon="3"><extensions><o:seen><trkpt lat="53" lon="53"/></o:seen></extensions></trkpt></trkseg></trk>
      <rte><rtept lat="5" lon="6"><extensions><rte><rtept lat="54" lon="54"/></rte></extensions></rtept>
      <rtept lat="6" lon="6"/></rte><o:places><wpt lat="55" lon="55"/></o:places></gpx>
      """)
    let features = try FeatureFile.features(path: path)
    #expect(
      features.map(\.geometry) == [
        .points([SIMD2(2, 1)]), .lines([[SIMD2(2, 1), SIMD2(3, 2)]]), .lines([[SIMD2(6, 5), SIMD2(6, 6)]]),
      ])
    #expect(features[0].properties["name"] == .string("Hut"))
  }

  @Test func featuresOfGPXHaveNames() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "trip.gpx",
      """
      <gpx><metadata><name>File</name></metadata>
      <wpt lat="1" lon="2"><ele>5</ele><name> Hut </name><sym>Lodge</sym></wpt>
      <trk><name>Day 1</name>
      <trkseg><trkpt lat="1" lon="2"><name>not this</name></trkpt><trkpt lat="2" lon="3"/></trkseg>
      <trkseg><trkpt lat="3" lon="4"/></trkseg></trk><rte><rtept lat="5" lon="6"/><rtept lat="6" lon="6"/></rte></gpx>
      """)
    let features = try FeatureFile.features(path: path)
    #expect(features.map { $0.properties["gpx"] } == [.string("wpt"), .string("trk"), .string("rte")])
    #expect(features.map(\.kind) == [.point, .line, .line])
    #expect(features[0].properties["sym"] == .string("Lodge") && features[1].properties["name"] == .string("Day 1"))
    #expect(features[1].geometry == .lines([[SIMD2(2, 1), SIMD2(3, 2)], [SIMD2(4, 3)]]))
  }
}
