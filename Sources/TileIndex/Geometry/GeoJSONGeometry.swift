package import Support

/// A GeoJSON geometry (RFC 7946, section 3.1). Positions are longitude and latitude in degrees; a height is left out.
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
  }

  private static let depthMax = 8

  /// - Parameter place: where in the document it stands, for errors.
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

  /// Every polygon in a document: a geometry, a feature or a collection of features. Points and lines have no area and are no use here.
  ///
  /// - Throws: ``Fault``, also where there is no polygon at all.
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
    // Some makers go on beyond the antimeridian instead of splitting.
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
