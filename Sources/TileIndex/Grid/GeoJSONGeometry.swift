package import Support

/// A GeoJSON geometry (RFC 7946, section 3.1). Positions are longitude and latitude in degrees; heights are dropped.
package indirect enum GeoJSONGeometry: Hashable, Sendable {
  case points([SIMD2<Double>])
  case lines([[SIMD2<Double>]])
  case polygons([Polygon])
  case collection([GeoJSONGeometry])

  /// What is wrong, and where in the document, such as `features[3].geometry.coordinates`.
  package struct Fault: Error, Hashable, CustomStringConvertible {
    package let place: String
    package let message: String
    package var description: String { "\(place): \(message)" }

    package init(place: String, message: String) { (self.place, self.message) = (place, message) }
  }

  private static let depthMax = 8

  /// - Parameter place: the position in the document, for errors.
  package init(_ json: JSONValue, at place: String) throws(Fault) { try self.init(json, at: place, depth: 0) }

  private init(_ json: JSONValue, at place: String, depth: Int) throws(Fault) {
    guard let type = json["type"]?.string else {
      throw Fault(place: "\(place).type", message: "is missing")
    }
    guard depth < Self.depthMax else {
      throw Fault(place: place, message: "lies too deep in other collections")
    }
    if type == "GeometryCollection" {
      guard let geometries = json["geometries"]?.array else {
        throw Fault(place: "\(place).geometries", message: "is missing")
      }
      var parts: [GeoJSONGeometry] = []
      for (index, geometry) in geometries.enumerated() {
        parts.append(try GeoJSONGeometry(geometry, at: "\(place).geometries[\(index)]", depth: depth + 1))
      }
      self = .collection(parts)
      return
    }
    let coordinates = json["coordinates"] ?? .null
    let at = "\(place).coordinates"
    switch type {
    case "Point": self = .points([try Self.position(coordinates, at)])
    case "MultiPoint": self = .points(try Self.positions(coordinates, at))
    case "LineString": self = .lines([try Self.line(coordinates, at)])
    case "MultiLineString": self = .lines(try Self.list(coordinates, at, Self.line))
    case "Polygon": self = .polygons([try Self.polygon(coordinates, at)])
    case "MultiPolygon": self = .polygons(try Self.list(coordinates, at, Self.polygon))
    default: throw Fault(place: "\(place).type", message: "\"\(type)\" is no GeoJSON geometry")
    }
  }

  /// All polygons of a document: a geometry, a feature or a collection of features. Points and lines are ignored.
  ///
  /// - Throws: ``Fault``, also when there is no polygon.
  package static func polygons(in document: JSONValue) throws(Fault) -> [Polygon] {
    var found: [Polygon] = []
    try collect(document, at: "", into: &found)
    guard !found.isEmpty else { throw Fault(place: "document", message: "has no Polygon or MultiPolygon") }
    return found
  }

  private static func collect(_ json: JSONValue, at place: String, into found: inout [Polygon]) throws(Fault) {
    let dot = place.isEmpty ? "" : "\(place)."
    switch json["type"]?.string {
    case "FeatureCollection":
      guard let features = json["features"]?.array else { throw Fault(place: "\(dot)features", message: "is missing") }
      for (index, feature) in features.enumerated() {
        guard feature["type"]?.string == "Feature" else {
          throw Fault(place: "\(dot)features[\(index)]", message: "is no Feature")
        }
        try collect(feature, at: "\(dot)features[\(index)]", into: &found)
      }
    case "Feature":
      guard let geometry = json.member("geometry") else { throw Fault(place: "\(dot)geometry", message: "is missing") }
      if geometry != .null { try GeoJSONGeometry(geometry, at: "\(dot)geometry").collectPolygons(into: &found) }
    default: try GeoJSONGeometry(json, at: place.isEmpty ? "document" : place).collectPolygons(into: &found)
    }
  }

  private func collectPolygons(into found: inout [Polygon]) {
    switch self {
    case .points, .lines: break
    case .polygons(let polygons): found += polygons
    case .collection(let parts): for part in parts { part.collectPolygons(into: &found) }
    }
  }
}

/// Coordinates.
extension GeoJSONGeometry {
  private static func position(_ json: JSONValue, _ place: String) throws(Fault) -> SIMD2<Double> {
    guard let values = json.array, values.count >= 2, case .number(let x) = values[0], case .number(let y) = values[1],
      let longitude = Double(x), let latitude = Double(y)
    else { throw Fault(place: place, message: "is no position [longitude, latitude]") }
    // Some producers continue beyond the antimeridian instead of splitting.
    guard abs(longitude) <= 540, abs(latitude) <= 90 else {
      throw Fault(place: place, message: "[\(x), \(y)] lies nowhere on Earth; degrees are wanted, the longitude first")
    }
    return SIMD2(longitude, latitude)
  }

  private static func list<Item>(
    _ json: JSONValue, _ place: String, _ read: (JSONValue, String) throws(Fault) -> Item
  ) throws(Fault) -> [Item] {
    guard let values = json.array, !values.isEmpty else {
      throw Fault(place: place, message: "is missing, empty or no list")
    }
    var items: [Item] = []
    items.reserveCapacity(values.count)
    for (index, value) in values.enumerated() { items.append(try read(value, "\(place)[\(index)]")) }
    return items
  }

  private static func positions(_ json: JSONValue, _ place: String) throws(Fault) -> [SIMD2<Double>] {
    try list(json, place, position)
  }

  private static func line(_ json: JSONValue, _ place: String) throws(Fault) -> [SIMD2<Double>] {
    let line = try positions(json, place)
    guard line.count >= 2 else { throw Fault(place: place, message: "is a line of one position") }
    return line
  }

  private static func polygon(_ json: JSONValue, _ place: String) throws(Fault) -> Polygon {
    let rings = try list(json, place, positions)
    for (index, ring) in rings.enumerated() where ring.count < 4 || ring.first != ring.last {
      throw Fault(
        place: "\(place)[\(index)]", message: "is no ring: four positions or more, the last equal to the first")
    }
    return Polygon(rings: rings)
  }
}

/// An area with straight edges in degrees: an outer ring and holes. Ring orientation does not matter: a point enclosed
/// by an odd number of rings is inside.
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
    var isInside = false
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where (a.y > point.y) != (b.y > point.y) {
        if point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x) { isInside.toggle() }
      }
    }
    return isInside
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
