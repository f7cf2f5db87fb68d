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
    try labels(try map(features, style, frame: frame), zoom: zoom)
  }

  private func map(_ features: [MapFeature], _ style: String, frame: LabelFrame?) throws -> VectorMap {
    try VectorMap(
      [VectorMap.Layer(.features(features), rules: try rules(style))], matrixSet: .webMercatorQuad, density: 1,
      frame: frame)
  }

  private func labels(_ map: VectorMap, zoom: Int) throws -> [Label] {
    try map.drawing(zoom: zoom).items.compactMap { item in
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
    let lines = (0..<24).map { i in river("River \(i)", from: place(), to: place()) }
    return (lines, (0..<60).map { i in feature(.points([place()]), "Place \(i)") })
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

  @Test(arguments: [8, 10], [[along], [along, places], [places, along]])
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

  /// Bounds hide labels that lie beyond them, and move no other: a river, a road and a lake that do not meet.
  @Test func mapsOfOtherBoundsHaveLabelsAtTheSamePlaces() throws {
    let features = [
      Self.river("Colorado River", from: SIMD2(7.3, 47.2), to: SIMD2(12.9, 47.2), bow: 0.03),
      Self.river("Trail Ridge Road", from: SIMD2(12.6, 46.3), to: SIMD2(8.1, 46.3), bow: -0.03),
      // Its middle is in both frames, its ends are in neither.
      Self.feature(
        .polygons([
          Polygon(rings: [[SIMD2(8, 46.7), SIMD2(12.3, 46.7), SIMD2(12.3, 46.8), SIMD2(8, 46.8), SIMD2(8, 46.7)]])
        ]), "Shadow Mountain Lake"),
    ]
    let isLine = #"["==", ["geometry-type"], "LineString"]"#
    let style = """
      [\(Self.along.replacing(##"["!=", ["geometry-type"], "Point"]"##, with: isLine)),
      \(Self.areas.replacing("\"symbol\",", with: "\"symbol\", \"filter\": [\"!\", \(isLine)],"))]
      """
    let frames = [
      frame(west: 8.9, south: 45.6, east: 10.6, north: 47.4), frame(west: 9.7, south: 46.1, east: 11.9, north: 48.1),
    ]
    let maps = try frames.map { try map(features, style, frame: $0) }
    for zoom in 6...11 {
      let found = try maps.map { try labels($0, zoom: zoom).compactMap(\.extent) }
      func shared(_ one: Int, _ other: Int) -> [PixelBox] {
        found[one].filter { frames[other].box(zoom).contains($0) }
      }
      let (a, b) = (shared(0, 1), shared(1, 0))
      let isSame = a.allSatisfy { one in
        b.contains { (one.low - $0.low).length < 0.05 && (one.high - $0.high).length < 0.05 }
      }
      #expect(isSame && a.count == b.count, "zoom \(zoom): \(a), \(b)")
      // The lake and a name along a line, then names along both lines.
      #expect(a.count >= [9: 2, 10: 4, 11: 7][zoom, default: 0], "zoom \(zoom): \(a.count)")
    }
  }

  /// What has a place along a line keeps it when the map is enlarged.
  @Test func labelsStayFromZoomToZoom() throws {
    let apart = (0..<4).map { i in
      let latitude = 45.5 + 0.7 * Double(i)
      return Self.river("River \(i)", from: SIMD2(9, latitude), to: SIMD2(11, latitude + 0.3), bow: 0.1)
    }
    let stayed = try moves(apart)
    #expect(stayed.kept > 40 && stayed.lost.isEmpty, "\(stayed)")
    // Further aside than a new one may lie.
    #expect(stayed.aside > 1)
    let crowded = try moves(Self.crowd.lines)
    #expect(crowded.kept > 60 && crowded.lost.isEmpty, "\(crowded)")
  }

  /// How many places along lines are those of the zoom before, which ones are not, and how far the farthest of them
  /// lies from where it is wanted, as a share of the distance to the next one.
  private func moves(_ features: [MapFeature]) throws -> (kept: Int, lost: [String], aside: Double) {
    let matrixSet = TileMatrixSet.webMercatorQuad
    let rules = try rules("[\(Self.along)]")
    let shaper = try TextShaper()
    var earlier = LabelPlacer.Placement()
    var (kept, lost, aside) = (0, [String](), 0.0)
    for zoom in 6...11 {
      let layer = ZoomLayer(features, rules: rules, icons: IconSet([:]), matrixSet: matrixSet, zoom: zoom)
      let matrix = matrixSet[zoom]
      let placement = try LabelPlacer.place(
        [layer], zoom: zoom, matrix: matrix, density: 1, frame: LabelFrame(matrixSet), shaper: shaper, earlier: earlier)
      for (key, places) in earlier.places {
        for (wanted, place) in places {
          let now = placement.places[key]?[wanted]
          let off = now.map { matrix.pixelCoordinates(of: $0.point) - matrix.pixelCoordinates(of: place.point) }
          if let off, off.length < 1 {
            kept += 1
          } else {
            lost.append("zoom \(zoom), line \(key.feature), \(wanted), \(place.share), \(off as Any)")
          }
        }
      }
      for places in placement.places.values {
        for (wanted, place) in places where places.count > 1 {
          aside = max(aside, (place.share - wanted).magnitude * Double(places.count + 1))
        }
      }
      earlier = placement
    }
    return (kept, lost, aside)
  }
}
