import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Pictures of maps beside those that people have looked at. `BLESS=1` accepts new ones.
@Suite(.ownThread)
struct GoldenPictureTests {
  struct Scene: Sendable, CustomTestStringConvertible {
    let name: String
    let style: String
    var density = 1
    /// In place of those of the set.
    var drawing: String?
    var testDescription: String { name }
  }

  /// Names of icons in rows, a river in a bow, a lake, all within one tile of zoom 8.
  private static func features() throws -> [MapFeature] {
    let corner = TileMatrixSet.webMercatorQuad.geographicBounds(of: try TileID(zoom: 8, column: 135, row: 90))
    func place(_ x: Double, _ y: Double) -> SIMD2<Double> {
      SIMD2(corner.west + corner.width * x / 256, corner.north - corner.height * y / 256)
    }
    func named(_ name: String, _ geometry: GeoJSONGeometry, _ kind: String) -> MapFeature {
      MapFeature(geometry, properties: ["name": .string(name), "kind": .string(kind)])
    }
    let icons = IconSet([:]).names
    var features = icons.enumerated().map { i, name in
      named(name, .points([place(24 + Double(i % 4) * 66, 22 + Double(i / 4) * 34)]), "icon")
    }
    let bow: [SIMD2<Double>] = (0...40).map { i in
      let x = 10 + Double(i) * 5.9
      return place(x, 185 + 0.0018 * (x - 128) * (x - 128))
    }
    features.append(named("Colorado River", .lines([bow]), "river"))
    let lake = [place(60, 215), place(196, 215), place(180, 250), place(76, 250), place(60, 215)]
    features.append(named("Große Łąka", .polygons([Polygon(rings: [lake])]), "lake"))
    return features
  }

  private static func style(_ icon: String) -> String {
    ##"""
    [{"type": "fill", "filter": ["==", ["get", "kind"], "lake"], "paint": {"fill-color": "#a8cbe0"}},
    {"type": "line", "filter": ["==", ["get", "kind"], "river"], "paint": {"line-color": "#5b94bd", "line-width": 2}},
    {"type": "symbol", "filter": ["!=", ["get", "kind"], "icon"],
      "layout": {"text-field": "{name}", "text-font": ["Open Sans Italic"], "text-size": 15,
        "symbol-placement": ["match", ["get", "kind"], "river", "line", "point"], "text-letter-spacing": 0.05},
      "paint": {"text-color": "#2d618a", "text-halo-color": "#ffffff", "text-halo-width": 1.5}},
    {"type": "symbol", "filter": ["==", ["get", "kind"], "icon"],
      "layout": {"icon-image": \##(icon), "text-field": "{name}", "text-size": 9, "text-anchor": "top",
        "text-offset": [0, 1]},
      "paint": {"icon-color": "#7a3b1c", "icon-halo-color": "#fff", "icon-halo-width": 1, "text-color": "#222"}}]
    """##
  }

  static let scenes = [
    Scene(name: "labels", style: style(#"["get", "name"]"#)),
    Scene(name: "badges", style: style(#"["concat", ["get", "name"], "-badge"]"#)),
    Scene(name: "labels@2x", style: style(#"["get", "name"]"#), density: 2),
    Scene(name: "drawings", style: style(#""hut""#), drawing: hut),
    Scene(name: "drawings@2x", style: style(#""hut""#), density: 2, drawing: hut),
  ]

  /// Outlines, a gradient, a text and transparency.
  private static let hut = """
    <svg xmlns="http://www.w3.org/2000/svg" width="22" height="20" viewBox="0 0 22 20">
    <defs><linearGradient id="roof" x2="0" y2="1"><stop stop-color="#e05a2b"/><stop offset="1" stop-color="#7a1f0c"/>
    </linearGradient></defs>
    <circle cx="11" cy="11" r="9" fill="#2b5f8f" fill-opacity="0.3"/>
    <path d="M4 10v8h14v-8" fill="#f5e6c8" stroke="#5a3a1e" stroke-width="1.2" stroke-linejoin="round"/>
    <path d="M1 11 11 2l10 9z" fill="url(#roof)"/>
    <text x="11" y="17" font-family="Open Sans" font-size="6" text-anchor="middle" fill="#5a3a1e">H</text></svg>
    """

  @Test(arguments: scenes)
  func picturesAreThoseOfTheGoldens(_ scene: Scene) throws {
    let rules = try JSONValue(parsing: Array(scene.style.utf8)).array!.map { json in
      try #require(StyleRule(json) { place, message, _ in Issue.record("\(place) \(message)") })
    }
    let matrixSet = try TileMatrixSet.webMercatorQuad.withPixels(times: scene.density)
    let images = try scene.drawing.map { ["hut": IconFile.drawing(try SVGDrawing(Array($0.utf8)))] } ?? [:]
    let map = try VectorMap(
      [VectorMap.Layer(.features(Self.features()), rules: rules, images: images)], matrixSet: matrixSet,
      density: Double(scene.density))
    let drawn = try #require(
      try TilePainter(map, insideOnly: false).painted(nil, TileID(zoom: 8, column: 135, row: 90)))
    drawn.composite(over: .white)
    try GoldenPicture.expect(drawn, looksLike: "Tests/MapDrawingTests/Goldens/\(scene.name).png")
  }
}
