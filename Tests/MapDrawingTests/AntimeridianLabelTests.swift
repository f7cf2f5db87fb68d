import TestSupport
import Testing
import TileImage
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Labels across 180 degrees, whole on both sides.
@Suite(.ownThread)
struct AntimeridianLabelTests {
  private static let set = TileMatrixSet.webMercatorQuad
  private static let text = #"{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 13}}"#

  /// - Parameter degrees: beyond 180 for a map across the antimeridian.
  private static func frame(_ degrees: ClosedRange<Double>) -> LabelFrame {
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let turn = set.turn(zoom: zoom)
      let x = [degrees.lowerBound, degrees.upperBound].map { ($0 + 180) / 360 * turn }
      return PixelBox(low: SIMD2(x[0], 0), high: SIMD2(x[1], turn))
    }
    return LabelFrame(box: box) { _, _ in true }
  }

  private func map(_ features: [MapFeature], _ degrees: ClosedRange<Double>, _ rule: String = text) throws -> VectorMap
  {
    let rule = try #require(
      try StyleRule(JSONValue(parsing: Array(rule.utf8))) { place, message, _ in Issue.record("\(place) \(message)") })
    return try VectorMap(
      [VectorMap.Layer(.features(features), rules: [rule])], matrixSet: Self.set, density: 1,
      frame: Self.frame(degrees))
  }

  private static func point(_ x: Double, _ y: Double = 0.5) -> MapFeature {
    MapFeature(.points([SIMD2(x, y)]), properties: ["name": .string("Taveuni")])
  }

  /// The opaque pixels of the tiles to the left and to the right of the antimeridian.
  private func sides(_ map: VectorMap, zoom: Int) throws -> (west: [Bool], east: [Bool]) {
    let painter = TilePainter(map, insideOnly: false)
    func pixels(_ column: Int) throws -> [Bool] {
      let tile = TileID(unchecked: zoom, column, (1 << (zoom - 1)) - 1)
      guard let picture = try painter.painted(nil, tile) else { return [Bool](repeating: false, count: 256 * 256) }
      return (0..<(256 * 256)).map { picture.bytes.load(fromByteOffset: 4 * $0 + 3, as: UInt8.self) > 0 }
    }
    return (try pixels((1 << zoom) - 1), try pixels(0))
  }

  @Test(arguments: [-180.0...180, 175...185], [179.99, -179.99, 180, -180])
  func labelsAreWholeOnBothSides(_ degrees: ClosedRange<Double>, longitude: Double) throws {
    let zoom = 6
    let (west, east) = try sides(try map([Self.point(longitude)], degrees), zoom: zoom)
    #expect(west.count(where: \.self) > 30 && east.count(where: \.self) > 30)
    // The same label elsewhere, on pixels as far from the edge of a tile.
    let moved = longitude > 0 ? longitude - 180 : longitude + 180
    let elsewhere = TilePainter(try map([Self.point(moved)], -180...180), insideOnly: false)
    let whole = try [31, 32].map { column -> Int in
      let picture = try #require(try elsewhere.painted(nil, TileID(unchecked: zoom, column, 31)))
      return (0..<(256 * 256)).count { picture.bytes.load(fromByteOffset: 4 * $0 + 3, as: UInt8.self) > 0 }
    }
    #expect(whole == [west.count(where: \.self), east.count(where: \.self)])
  }

  /// A map that ends there has one side.
  @Test(arguments: [(170.0...180.0, 179.99), (-180.0...(-170), -179.99)])
  func mapsThatEndThereHaveNoLabelAcross(_ degrees: ClosedRange<Double>, longitude: Double) throws {
    let (west, east) = try sides(try map([Self.point(longitude)], degrees), zoom: 6)
    #expect(!west.contains(true) && !east.contains(true))
  }

  @Test func labelsMeetThoseOfTheOtherSide() throws {
    let map = try map([Self.point(179.9), Self.point(-179.9)], -180...180)
    let labels = try map.drawing(zoom: 6).items.count
    #expect(labels == 1 && map.labelLosses.first?.dropped.count == 1)
  }

  /// Lines and areas that go on beyond 180 degrees, and those that are given on the other side.
  @Test(arguments: [178.0...182.0, -182.0...(-178)], [-180.0...180, 175...185])
  func linesAndAreasAcrossHaveTheirLabels(_ way: ClosedRange<Double>, degrees: ClosedRange<Double>) throws {
    let ends = (way.lowerBound, way.upperBound)
    let name: [String: StyleValue] = ["name": .string("Taveuni")]
    let line = MapFeature(.lines([[SIMD2(ends.0, 0.5), SIMD2(ends.1, 0.5)]]), properties: name)
    let along = Self.text.replacing("\"text-size\"", with: "\"symbol-placement\": \"line\", \"text-size\"")
    let ring = [
      SIMD2(ends.0, 0.3), SIMD2(ends.1, 0.3), SIMD2(ends.1, 0.7), SIMD2(ends.0, 0.7), SIMD2(ends.0, 0.3),
    ]
    let area = MapFeature(.polygons([.init(rings: [ring])]), properties: name)
    for (feature, rule) in [(line, along), (area, Self.text)] {
      let (west, east) = try sides(try map([feature], degrees, rule), zoom: 6)
      #expect(west.count(where: \.self) > 30 && east.count(where: \.self) > 30, "\(feature.kind)")
    }
  }

  @Test func boxesAroundTheWorldAreWrapped() {
    func spans(_ low: Double, _ high: Double) -> [SIMD2<Double>] {
      PixelBox(low: SIMD2(low, 0), high: SIMD2(high, 1)).wrapped(256).map { SIMD2($0.low.x, $0.high.x) }
    }
    #expect(spans(10, 20) == [SIMD2(10, 20)] && spans(266, 276) == [SIMD2(10, 20)])
    for (low, high) in [(-10.0, 20.0), (246, 276)] {
      let parts = spans(low, high)
      #expect(parts.count == 2 && abs(parts[0].x - 246) < 0.01 && abs(parts[0].y - 256) < 0.01, "\(parts)")
      #expect(parts.count == 2 && abs(parts[1].x) < 0.01 && parts[1].y == 20, "\(parts)")
    }
  }
}
