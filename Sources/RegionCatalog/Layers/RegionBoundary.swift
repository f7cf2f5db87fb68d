package import Support
public import TileIndex

/// A region's outline: polygons with holes in WGS 84 degrees, as in GeoJSON (RFC 7946).
public struct RegionBoundary: Hashable, Sendable {
  /// A closed ring of longitudes and latitudes.
  package typealias Ring = [SIMD2<Double>]

  /// The polygons; each is its outer ring, followed by holes.
  package let polygons: [[Ring]]

  /// The box around all rings.
  public let bounds: BoundingBox

  /// - Parameter polygons: at least one, each with at least one ring.
  init(polygons: [[Ring]]) {
    self.polygons = polygons
    let points = polygons.lazy.flatMap { $0 }.flatMap { $0 }
    bounds = points.reduce(
      BoundingBox(west: .infinity, south: .infinity, east: -.infinity, north: -.infinity)
    ) { $0.union(BoundingBox(west: $1.x, south: $1.y, east: $1.x, north: $1.y)) }
  }

  /// The bounds of an area across the antimeridian, with a west greater than the east; nil for other areas, and for one
  /// that spans all longitudes.
  package var boundsAcrossAntimeridian: BoundingBox? {
    guard bounds.west == -180, bounds.east == 180 else { return nil }
    // The widest range of longitudes without a polygon is outside the box.
    var gap = -180.0 ... -180
    var end = -180.0
    for box in polygons.map({ BoundingBox(around: $0.flatMap { $0 }) }).sorted(by: { $0.west < $1.west }) {
      if box.west - end > gap.upperBound - gap.lowerBound { gap = end...box.west }
      end = max(end, box.east)
    }
    guard gap.upperBound > gap.lowerBound else { return nil }
    return BoundingBox(west: gap.upperBound, south: bounds.south, east: gap.lowerBound, north: bounds.north)
  }

  /// True when the position lies inside and not in a hole; undefined on an edge.
  ///
  /// - Complexity: O(points).
  public func contains(longitude: Double, latitude: Double) -> Bool {
    polygons.contains { Polygon(rings: $0).contains(SIMD2(longitude, latitude)) }
  }
}

extension RegionBoundary: Codable {
  private enum Key: String, CodingKey { case type, coordinates }

  /// Writes a GeoJSON Polygon or MultiPolygon.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    let numbers = polygons.map { $0.map { $0.map { [$0.x, $0.y] } } }
    if numbers.count == 1 {
      try container.encode("Polygon", forKey: .type)
      try container.encode(numbers[0], forKey: .coordinates)
    } else {
      try container.encode("MultiPolygon", forKey: .type)
      try container.encode(numbers, forKey: .coordinates)
    }
  }

  /// Reads what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let numbers =
      try container.decode(String.self, forKey: .type) == "Polygon"
      ? [container.decode([[[Double]]].self, forKey: .coordinates)]
      : container.decode([[[[Double]]]].self, forKey: .coordinates)
    let isWhole = !numbers.isEmpty && numbers.allSatisfy { !$0.isEmpty && $0.joined().allSatisfy { $0.count >= 2 } }
    guard isWhole else {
      throw DecodingError.dataCorruptedError(
        forKey: .coordinates, in: container, debugDescription: "are no polygons")
    }
    self.init(polygons: numbers.map { $0.map { $0.map { SIMD2($0[0], $0[1]) } } })
  }
}

extension RegionBoundary {
  /// Reads the polygons of a document: a Polygon or MultiPolygon, or a Feature, FeatureCollection or GeometryCollection
  /// of them (RFC 7946, section 3.1).
  ///
  /// - Throws: ``GeoJSONGeometry/Fault``, also for positions beyond ±180 degrees, whose edges would span the whole
  ///   world.
  package init(geoJSON value: JSONValue) throws(GeoJSONGeometry.Fault) {
    try self.init(try GeoJSONGeometry.polygons(in: value))
  }

  /// Reads the polygons of a document in a file.
  ///
  /// - Throws: ``GeoJSONGeometry/Fault``, `JSONValue.SyntaxError` or `JSONFile.Unreadable`.
  package init(file path: String) throws {
    try self.init(try GeoJSONGeometry.polygons(in: try JSONFile.open(path)))
  }

  private init(_ polygons: [Polygon]) throws(GeoJSONGeometry.Fault) {
    for (index, polygon) in polygons.enumerated() where polygon.bounds.west < -180 || polygon.bounds.east > 180 {
      throw GeoJSONGeometry.Fault(
        place: "document",
        message: "goes on beyond the antimeridian in polygon \(index + 1), which should be cut in two there")
    }
    self.init(polygons: polygons.map(\.rings))
  }
}

extension RegionBoundary {
  /// The tiles of a zoom that the area intersects, as ranges one row high.
  ///
  /// Edges are straight in Web Mercator and degrees; for real outlines the difference is negligible.
  /// - Complexity: O(rows that each edge crosses), in time and memory.
  package func tiles(zoom: Int, in matrixSet: TileMatrixSet) -> [TileRange] {
    let whole = matrixSet.wholeRange(zoom: zoom)
    var runs: [Int: [ClosedRange<Int>]] = [:]
    func add(_ row: Int, _ columns: ClosedRange<Int>) {
      // The eastern and southern edges of the world belong to the last tiles.
      let row = min(row, whole.rows.upperBound)
      let columns = min(columns.lowerBound, whole.columns.upperBound)...max(columns.upperBound, 0)
      guard whole.rows.contains(row), columns.overlaps(whole.columns) else { return }
      runs[row, default: []].append(columns.clamped(to: whole.columns))
    }
    var (lines, spans) = (PolygonSpans(), [PolygonSpans.Span]())
    for rings in polygons {
      // Where the centre lines of rows cross the polygon's edges.
      var crossings: [Int: [PolygonSpans.Crossing]] = [:]
      for (ring, degrees) in rings.enumerated() {
        for (a, b) in Self.places(degrees, zoom: zoom, in: matrixSet).flatMap({ zip($0, $0.dropFirst()) }) {
          LineTiles.forEachRow(from: a, to: b, add)
          let (top, bottom) = a.y <= b.y ? (a, b) : (b, a)
          let first = Int((top.y - 0.5).rounded(.up))
          let end = Int((bottom.y - 0.5).rounded(.up))
          for row in first..<max(end, first) {
            let part = (Double(row) + 0.5 - top.y) / (bottom.y - top.y)
            let x = top.x + (bottom.x - top.x) * part
            crossings[row, default: []].append(PolygonSpans.Crossing(polygon: 0, ring: Int32(ring), x: x))
          }
        }
      }
      for (row, var places) in crossings {
        lines.find(&places, into: &spans)
        for span in spans {
          let first = Int((span.start - 0.5).rounded(.up))
          let last = Int((span.end - 0.5).rounded(.down))
          if first <= last { add(row, first...last) }
        }
      }
    }
    return runs.keys.sorted().flatMap { row in
      runs[row]!.map { TileRange(zoom: zoom, columns: $0, rows: row...row) }
    }
  }
}

extension RegionBoundary {
  /// A ring in tiles of a zoom; in a fitted CRS the parts that lie in the grid.
  private static func places(_ ring: Ring, zoom: Int, in matrixSet: TileMatrixSet) -> [Ring] {
    let matrix = matrixSet[zoom]
    func place(_ degrees: SIMD2<Double>) -> SIMD2<Double> {
      matrix.tileCoordinates(of: matrixSet.point(longitude: degrees.x, latitude: degrees.y))
    }
    guard case .fitted = matrixSet.projection else { return [ring.map(place)] }
    return matrixSet.reachable(ring: ring).map { part in
      ProjectedRing.pixels(part) { points in
        for i in points.indices { points[i] = place(points[i]) }
      }
    }
  }
}

/// The cells of a unit grid that a straight line crosses, row by row.
package enum LineTiles {
  /// Passes each row that the line from `a` to `b` crosses to a closure, with the columns there. Coordinates are in
  /// cells: (1.5, 0.2) is in column 1 of row 0.
  ///
  /// A line along an edge belongs to the cell below or to the right.
  /// - Complexity: O(rows crossed).
  package static func forEachRow(
    from a: SIMD2<Double>, to b: SIMD2<Double>, _ body: (_ row: Int, _ columns: ClosedRange<Int>) -> Void
  ) {
    let (top, bottom) = a.y <= b.y ? (a, b) : (b, a)
    let first = Int(top.y.rounded(.down))
    let last = Int(bottom.y.rounded(.down))
    for row in first...last {
      func x(_ y: Double) -> Double {
        top.y == bottom.y ? top.x : top.x + (bottom.x - top.x) * ((y - top.y) / (bottom.y - top.y))
      }
      let start = row == first ? top.x : x(Double(row))
      let end = row == last ? bottom.x : x(Double(row + 1))
      body(row, Int(min(start, end).rounded(.down))...Int(max(start, end).rounded(.down)))
    }
  }
}
