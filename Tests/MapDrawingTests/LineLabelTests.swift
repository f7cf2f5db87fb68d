import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Labels along lines: beside each other and beside labels of points, from zoom to zoom, and in maps of other bounds.
@Suite(.ownThread)
struct LineLabelTests {
  private func rules(_ style: String) throws -> [StyleRule] {
    try JSONValue(parsing: Array(style.utf8)).array!.map { json in
      try #require(StyleRule(json) { place, message, _ in Issue.record("\(place) \(message)") })
    }
  }

  private func labels(
    _ features: [MapFeature], _ style: String, zoom: Int, frame: LabelFrame? = nil
  ) throws -> [Label] {
    let map = try VectorMap(
      [VectorMap.Layer(.features(features), rules: try rules(style))], matrixSet: .webMercatorQuad, density: 1,
      frame: frame)
    return try map.drawing(zoom: zoom).items.compactMap { item in
      if case .label(let label) = item.style { label } else { nil }
    }
  }

  /// A frame of degrees.
  private func frame(west: Double, south: Double, east: Double, north: Double) -> LabelFrame {
    let matrixSet = TileMatrixSet.webMercatorQuad
    let box: @Sendable (Int) -> PixelBox = { zoom in
      let matrix = matrixSet[zoom]
      return PixelBox(
        low: matrix.pixelCoordinates(of: matrixSet.point(longitude: west, latitude: north)),
        high: matrix.pixelCoordinates(of: matrixSet.point(longitude: east, latitude: south)))
    }
    return LabelFrame(box: box) { box($0).contains($1) }
  }

  private static func feature(_ geometry: GeoJSONGeometry, _ name: String) -> MapFeature {
    MapFeature(geometry, properties: ["name": .string(name)])
  }

  /// A line in bows.
  private static func river(_ name: String, from start: SIMD2<Double>, to end: SIMD2<Double>, bow: Double = 0.1)
    -> MapFeature
  {
    let way = end - start
    let across = SIMD2(-way.y, way.x)
    return feature(
      .lines([
        (0...300).map { i in
          let share = Double(i) / 300
          return start + way * share + across * (bow * sin(share * 9))
        }
      ]), name)
  }

  /// Many more lines and points than fit.
  private static let crowd: (lines: [MapFeature], points: [MapFeature]) = {
    var random = SeededGenerator(seed: 14)
    func place() -> SIMD2<Double> {
      SIMD2(Double.random(in: 9...11, using: &random), Double.random(in: 46...47.5, using: &random))
    }
    let lines = (0..<80).map { i in river("River \(i)", from: place(), to: place()) }
    return (lines, (0..<200).map { i in feature(.points([place()]), "Place \(i)") })
  }()

  private static let along = #"""
    {"type": "symbol", "filter": ["!=", ["geometry-type"], "Point"],
      "layout": {"text-field": "{name}", "symbol-placement": "line", "text-size": 12, "symbol-spacing": 200},
      "paint": {"text-halo-color": "#fff", "text-halo-width": 1}}
    """#
  private static let places = #"""
    {"type": "symbol", "filter": ["==", ["geometry-type"], "Point"],
      "layout": {"text-field": "{name}", "text-size": 12, "icon-image": "circle", "text-anchor": "left"}}
    """#
  private static let areas = #"{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 14}}"#

  @Test(arguments: [8, 10, 11], [[along], [along, places], [places, along]])
  func labelsMeetNoOther(_ zoom: Int, rules: [String]) throws {
    let (lines, points) = Self.crowd
    let frame = frame(west: 9.3, south: 46.2, east: 10.7, north: 47.3)
    let features = rules.count > 1 ? lines + points : lines
    let found = try labels(features, "[\(rules.joined(separator: ","))]", zoom: zoom, frame: frame)
    // Letters along lines are turned.
    let turned = found.count { label in label.glyphs.contains { $0.outlines.contains { $0.across.y != 0 } } }
    #expect(turned > (zoom > 8 ? 10 : 0) && (rules.count == 1) == (turned == found.count), "\(turned) \(found.count)")
    for (i, a) in found.enumerated() {
      let extent = try #require(a.extent)
      #expect(frame.box(zoom).contains(extent))
      for b in found[(i + 1)...] {
        #expect(!a.boxes.contains { box in b.boxes.contains { $0.overlaps(box) } })
      }
    }
  }

  /// Bounds hide labels that lie beyond them, and move no other.
  @Test(arguments: 7...12) func mapsOfOtherBoundsHaveLabelsAtTheSamePlaces(_ zoom: Int) throws {
    let features = [
      Self.river("Colorado River", from: SIMD2(7.3, 46.4), to: SIMD2(12.9, 46.9), bow: 0.02),
      Self.river("Thompson River", from: SIMD2(10.1, 45.1), to: SIMD2(10.2, 48.8), bow: 0.02),
      Self.feature(.points([SIMD2(10.05, 46.9)]), "Longs Peak"),
      // Its middle is in both, its ends are in neither.
      Self.feature(
        .polygons([
          Polygon(rings: [[SIMD2(8, 46.5), SIMD2(12.3, 46.5), SIMD2(12.3, 46.8), SIMD2(8, 46.8), SIMD2(8, 46.5)]])
        ]), "Lake"),
    ]
    let style = """
      [\(Self.along.replacing(##"["!=", ["geometry-type"], "Point"]"##, with: ##"["==", ["geometry-type"], "LineString"]"##)),
      \(Self.areas.replacing("\"symbol\",", with: "\"symbol\", \"filter\": [\"!=\", [\"geometry-type\"], \"LineString\"],"))]
      """
    let frames = [
      frame(west: 8.9, south: 45.6, east: 10.6, north: 47.4), frame(west: 9.7, south: 46.1, east: 11.9, north: 48.1),
    ]
    let found = try frames.map { try labels(features, style, zoom: zoom, frame: $0).compactMap(\.extent) }
    func shared(_ one: Int, _ other: Int) -> [PixelBox] { found[one].filter { frames[other].box(zoom).contains($0) } }
    let (a, b) = (shared(0, 1), shared(1, 0))
    #expect(Set(a) == Set(b))
    // The place, the lake, and names along both rivers.
    if zoom >= 9 { #expect(a.count >= 4, "\(a.count)") }
  }

  /// What has a place along a line keeps it when the map is enlarged.
  @Test func labelsStayFromZoomToZoom() throws {
    let matrixSet = TileMatrixSet.webMercatorQuad
    let rules = try rules("[\(Self.along)]")
    let shaper = try TextShaper()
    var placements: [LabelPlacer.Placement] = []
    for zoom in 0...12 {
      let layer = ZoomLayer(Self.crowd.lines, rules: rules, icons: IconSet([:]), matrixSet: matrixSet, zoom: zoom)
      placements.append(
        try LabelPlacer.place(
          [layer], zoom: zoom, matrix: matrixSet[zoom], density: 1, frame: LabelFrame(matrixSet), shaper: shaper,
          earlier: placements.last))
    }
    var (kept, lost) = (0, 0)
    for zoom in 8..<12 {
      let (matrix, finer) = (matrixSet[zoom + 1], placements[zoom + 1].places)
      for (key, places) in placements[zoom].places {
        for (share, place) in places {
          let next = finer[key]?[share].map { matrix.pixelCoordinates(of: $0) - matrix.pixelCoordinates(of: place) }
          if let next, next.length < 3 { kept += 1 } else { lost += 1 }
        }
      }
    }
    #expect(kept > 100 && lost * 20 <= kept, "\(kept) stay, \(lost) do not")
    #expect(placements[12].places.count >= placements[9].places.count)
  }
}
