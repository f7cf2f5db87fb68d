package import Support

/// A GeoJSON geometry (RFC 7946, section 3.1). Positions are longitude and latitude in degrees; heights are dropped.
package enum GeoJSONGeometry: Hashable, Sendable {
  case points([SIMD2<Double>])
  case lines([[SIMD2<Double>]])
  case polygons([Polygon])
  case collection([GeoJSONGeometry])

  /// Whether it has no position, as a MultiPoint of none.
  package var isEmpty: Bool {
    switch self {
    case .points(let points): points.isEmpty
    case .lines(let lines): lines.allSatisfy(\.isEmpty)
    case .polygons(let polygons): polygons.allSatisfy { $0.rings.allSatisfy(\.isEmpty) }
    case .collection(let parts): parts.allSatisfy(\.isEmpty)
    }
  }

  /// What is wrong, and where in the document, such as `features[3].geometry.coordinates`.
  package struct Fault: Error, Hashable, CustomStringConvertible {
    package let place: String
    package let message: String
    package var description: String { "\(place): \(message)" }

    package init(place: String, message: String) { (self.place, self.message) = (place, message) }
  }

  /// - Parameter place: the position in the document, for errors.
  package init(_ json: JSONValue, at place: String) throws(Fault) {
    self = try Self.reading(json, at: place) { try GeoJSONReader.geometry($0, at: place) }
  }

  /// All polygons of a document: a geometry, a feature or a collection of features. Points and lines are ignored.
  ///
  /// - Throws: ``Fault``, also when there is no polygon.
  package static func polygons(in document: JSONValue) throws(Fault) -> [Polygon] {
    try reading(document, at: "document") { try polygons(in: $0) }
  }

  /// Of a document that is held in memory.
  package static let bytesMax = 1 << 30

  /// All polygons of a document in a file.
  ///
  /// - Throws: ``Fault``, also when there is no polygon; `JSONValue.SyntaxError`; what the source throws.
  package static func polygons(in source: any ByteSource) throws -> [Polygon] {
    // All of them are held, and a wrong file must not fill the memory.
    guard source.byteCount <= bytesMax else { throw Fault(place: "document", message: "has more than 1 GiB") }
    var found: [Polygon] = []
    try GeoJSONReader.read(source, properties: [], onlyFeatures: true) { feature in
      feature.geometry?.collectPolygons(into: &found)
    }
    guard !found.isEmpty else { throw Fault(place: "document", message: "has no Polygon or MultiPolygon") }
    return found
  }

  /// Reads a part of another document, which is valid JSON.
  private static func reading<Value>(
    _ json: JSONValue, at place: String, _ read: (MemoryBytes) throws -> Value
  ) throws(Fault) -> Value {
    do {
      return try read(MemoryBytes(json.bytes))
    } catch let fault as Fault {
      throw fault
    } catch {
      throw Fault(place: place, message: "\(error)")
    }
  }

  /// The geometry, or what a collection and the collections in it have, in their order.
  package var members: [GeoJSONGeometry] {
    if case .collection(let parts) = self { parts.flatMap(\.members) } else { [self] }
  }

  private func collectPolygons(into found: inout [Polygon]) {
    switch self {
    case .points, .lines: break
    case .polygons(let polygons): found += polygons
    case .collection(let parts): for part in parts { part.collectPolygons(into: &found) }
    }
  }
}

/// An area with straight edges in degrees: an outer ring and holes, which may overlap. Ring orientation does not
/// matter: a point in the outer ring and in no hole is inside, and an odd number of a ring's turns encloses what is in
/// it.
package struct Polygon: Hashable, Sendable {
  /// Longitude and latitude; each ring is closed and has at least four positions. The first is the outer ring.
  package let rings: [[SIMD2<Double>]]
  /// The box around the outer ring.
  package let bounds: BoundingBox

  package init(rings: [[SIMD2<Double>]]) {
    self.rings = rings
    bounds = BoundingBox(around: rings[0])
  }

  /// True for points inside; undefined for points on an edge.
  ///
  /// - Complexity: O(edges).
  package func contains(_ point: SIMD2<Double>) -> Bool {
    guard bounds.contains(point) else { return false }
    func encloses(_ ring: [SIMD2<Double>]) -> Bool {
      var isInside = false
      for (a, b) in zip(ring, ring.dropFirst()) where (a.y > point.y) != (b.y > point.y) {
        if point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x) { isInside.toggle() }
      }
      return isInside
    }
    return encloses(rings[0]) && !rings.dropFirst().contains(where: encloses)
  }

  /// True when the area and a box overlap, or an edge of the area touches the box.
  ///
  /// - Complexity: O(edges).
  package func intersects(_ box: BoundingBox) -> Bool {
    guard bounds.intersection(box) != nil else { return false }
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where Self.meets(a, b, box) { return true }
    }
    // No edge crosses the box: it lies entirely inside or entirely outside.
    return contains(box.centre)
  }

  /// True when part of the line lies in the box (Liang–Barsky clipping).
  private static func meets(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ box: BoundingBox) -> Bool {
    var (start, end) = (0.0, 1.0)
    let step = b - a
    for (delta, room) in [
      (-step.x, a.x - box.west), (step.x, box.east - a.x), (-step.y, a.y - box.south), (step.y, box.north - a.y),
    ] {
      if delta == 0 {
        if room < 0 { return false }
      } else if delta < 0 {
        start = max(start, room / delta)
      } else {
        end = min(end, room / delta)
      }
    }
    return start <= end
  }
}
