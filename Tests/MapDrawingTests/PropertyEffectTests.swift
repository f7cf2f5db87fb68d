import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Each property of a style that is said to be supported changes the picture.
@Suite(.ownThread) struct PropertyEffectTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let kind: StyleRule.Kind
    let property: String
    /// JSON.
    let value: String
    /// Other properties, with and without which the picture is compared.
    var others: [String: String] = [:]
    var testDescription: String { property }

    init(_ kind: StyleRule.Kind, _ property: String, _ value: String, _ others: [String: String] = [:]) {
      (self.kind, self.property, self.value, self.others) = (kind, property, value, others)
    }
  }

  private static let text = ["text-field": #""{name}""#, "text-size": "14"]
  private static let lines = text.merging(["text-max-width": "3"]) { $1 }
  private static let along = text.merging(["symbol-placement": #""line""#]) { $1 }
  private static let icon = ["icon-image": #""peak""#]
  private static let both = text.merging(icon) { $1 }
  /// The texts of neighbours lie far apart, their icons do not.
  private static let apart = both.merging([
    "icon-size": "2",
    "text-offset": #"""
    ["match", ["get", "rank"], 1, ["literal", [0, -2.2]], 2, ["literal", [0, 2.2]], ["literal", [9, 0]]]
    """#,
  ]) { $1 }
  /// The icons of neighbours lie apart, their texts do not.
  private static let raised = both.merging(["text-offset": "[0, -2]"]) { $1 }

  static let cases: [Case] = [
    Case(.line, "visibility", #""none""#), Case(.line, "line-cap", #""round""#), Case(.line, "line-join", #""bevel""#),
    Case(.line, "line-miter-limit", "20"), Case(.line, "line-color", #""red""#), Case(.line, "line-opacity", "0.5"),
    Case(.line, "line-width", "4"), Case(.line, "line-offset", "5"), Case(.line, "line-dasharray", "[2, 1]"),
    Case(.fill, "visibility", #""none""#), Case(.fill, "fill-color", #""red""#), Case(.fill, "fill-opacity", "0.5"),
    Case(.fill, "fill-outline-color", #""red""#),
    Case(.circle, "visibility", #""none""#), Case(.circle, "circle-radius", "9"),
    Case(.circle, "circle-color", #""red""#), Case(.circle, "circle-opacity", "0.5"),
    Case(.circle, "circle-stroke-width", "3"),
    Case(.circle, "circle-stroke-color", #""red""#, ["circle-stroke-width": "3"]),
    Case(.circle, "circle-stroke-opacity", "0.5", ["circle-stroke-width": "3"]),
    Case(.symbol, "visibility", #""none""#, text), Case(.symbol, "symbol-placement", #""line-center""#, text),
    Case(.symbol, "symbol-spacing", "60", along), Case(.symbol, "symbol-sort-key", #"["get", "rank"]"#, both),
    Case(.symbol, "text-field", #""{rank}""#, text), Case(.symbol, "text-font", #"["Open Sans Bold"]"#, text),
    Case(.symbol, "text-size", "20", text), Case(.symbol, "text-max-width", "3", text),
    Case(.symbol, "text-line-height", "2", lines), Case(.symbol, "text-letter-spacing", "0.3", text),
    Case(.symbol, "text-justify", #""left""#, lines), Case(.symbol, "text-anchor", #""left""#, text),
    Case(.symbol, "text-variable-anchor", #"["right", "top"]"#, text),
    Case(.symbol, "text-radial-offset", "2", text.merging(["text-anchor": #""left""#]) { $1 }),
    Case(.symbol, "text-offset", "[1, 1]", text), Case(.symbol, "text-max-angle", "1", along),
    Case(.symbol, "text-rotation-alignment", #""viewport""#, along), Case(.symbol, "text-padding", "90", text),
    Case(.symbol, "text-transform", #""uppercase""#, text), Case(.symbol, "text-allow-overlap", "true", text),
    Case(.symbol, "text-optional", "true", raised), Case(.symbol, "text-color", #""red""#, text),
    Case(.symbol, "text-opacity", "0.5", text),
    Case(.symbol, "text-halo-color", #""red""#, text.merging(["text-halo-width": "2"]) { $1 }),
    Case(.symbol, "text-halo-width", "2", text.merging(["text-halo-color": #""red""#]) { $1 }),
    Case(.symbol, "icon-image", #""water-badge""#, icon), Case(.symbol, "icon-size", "2", icon),
    Case(.symbol, "icon-anchor", #""bottom""#, icon), Case(.symbol, "icon-offset", "[5, 0]", icon),
    Case(
      .symbol, "icon-rotation-alignment", #""viewport""#, icon.merging(["symbol-placement": #""line""#]) { $1 }),
    Case(.symbol, "icon-padding", "60", icon), Case(.symbol, "icon-allow-overlap", "true", apart),
    Case(.symbol, "icon-optional", "true", apart), Case(.symbol, "icon-color", #""red""#, icon),
    Case(.symbol, "icon-opacity", "0.5", icon),
    Case(.symbol, "icon-halo-color", #""red""#, icon.merging(["icon-halo-width": "2"]) { $1 }),
    Case(.symbol, "icon-halo-width", "2", icon.merging(["icon-halo-color": #""red""#]) { $1 }),
  ]

  /// A sharp corner, a bow, an area, and two points whose labels meet, on a tile of zoom 8.
  private static func features() throws -> [MapFeature] {
    let corner = TileMatrixSet.webMercatorQuad.geographicBounds(of: try TileID(zoom: 8, column: 135, row: 90))
    func place(_ x: Double, _ y: Double) -> SIMD2<Double> {
      SIMD2(corner.west + corner.width * x / 256, corner.north - corner.height * y / 256)
    }
    func feature(_ geometry: GeoJSONGeometry, _ name: String, _ rank: Double) -> MapFeature {
      MapFeature(geometry, properties: ["name": .string(name), "rank": .number(rank)])
    }
    let bow = (0...60).map { i in place(10 + Double(i) * 3.9, 190 + 30 * Exponential.power(Double(i) / 30 - 1, 2)) }
    let ring = [place(20, 20), place(90, 30), place(80, 80), place(20, 20)]
    return [
      feature(.lines([[place(110, 20), place(180, 40), place(120, 45)]]), "Ridge", 3),
      feature(.lines([bow]), "River", 4),
      feature(.polygons([Polygon(rings: [ring])]), "Round Lake", 5),
      feature(.points([place(120, 110)]), "Long Valley Pass", 2),
      feature(.points([place(150, 112)]), "Short Valley Pass", 1),
    ]
  }

  private func pixels(_ kind: StyleRule.Kind, _ properties: [String: String]) throws -> [UInt8] {
    func group(_ known: some Collection<String>) -> String {
      let members = properties.filter { known.contains($0.key) }.map { "\"\($0.key)\": \($0.value)" }
      return "{\(members.joined(separator: ", "))}"
    }
    let (layout, paint) = (group(StyleRule.layout(kind).keys), group(StyleRule.paint(kind).keys))
    let json = #"{"type": "\#(kind.rawValue)", "layout": \#(layout), "paint": \#(paint)}"#
    let rule = try #require(
      StyleRule(try JSONValue(parsing: Array(json.utf8))) { place, message, _ in Issue.record("\(place) \(message)") })
    let map = try VectorMap(
      [VectorMap.Layer(.features(Self.features()), rules: [rule])], matrixSet: .webMercatorQuad, density: 1)
    guard let drawn = try TilePainter(map, insideOnly: false).painted(nil, TileID(zoom: 8, column: 135, row: 90)) else {
      return []
    }
    return Array(UnsafeRawBufferPointer(start: drawn.bytes, count: drawn.byteCount))
  }

  @Test(arguments: cases) func aPropertyChangesThePicture(_ one: Case) throws {
    var others = one.others
    if one.kind == .line { others["line-width"] = "9" }
    let before = try pixels(one.kind, others)
    others[one.property] = one.value
    let after = try pixels(one.kind, others)
    #expect(!before.isEmpty && before != after)
    #expect((one.property == "visibility") == after.isEmpty)
  }

  @Test(arguments: StyleRule.Kind.allCases) func noPropertyIsLeftOut(_ kind: StyleRule.Kind) {
    let tried = Set(Self.cases.filter { $0.kind == kind }.map(\.property))
    #expect(tried == Set(StyleRule.layout(kind).keys).union(StyleRule.paint(kind).keys))
  }
}
