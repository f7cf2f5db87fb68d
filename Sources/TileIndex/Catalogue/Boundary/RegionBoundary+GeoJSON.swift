extension RegionBoundary {
  /// Why a document is no boundary.
  package struct Fault: Error, Hashable {
    /// Where in the document, such as `coordinates[0][3]`; empty for the whole.
    package let place: String
    package let message: String
    package let remedy: String
  }

  /// Reads a Polygon or MultiPolygon, or a Feature, FeatureCollection or GeometryCollection of them (RFC 7946, section 3.1).
  package init(geoJSON value: JSONValue) throws(Fault) {
    let polygons = try Self.polygons(value, at: "")
    guard !polygons.isEmpty else {
      throw Fault(place: "", message: "holds no polygon", remedy: "draw the region's outline")
    }
    self.init(polygons: polygons)
  }

  private static func polygons(_ value: JSONValue, at place: String) throws(Fault) -> [[Ring]] {
    func join(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }
    guard case .object = value else {
      throw Fault(
        place: place, message: "is \(value.kind), not GeoJSON", remedy: "write a GeoJSON polygon, or name a file with one")
    }
    switch value["type"]?.string {
    case "Polygon": return [try rings(value["coordinates"], at: join("coordinates"))]
    case "MultiPolygon":
      var polygons: [[Ring]] = []
      for (index, item) in try items(value["coordinates"], at: join("coordinates")).enumerated() {
        polygons.append(try rings(item, at: "\(join("coordinates"))[\(index)]"))
      }
      return polygons
    case "Feature":
      guard let geometry = value["geometry"], geometry != .null else { return [] }
      return try Self.polygons(geometry, at: join("geometry"))
    case "FeatureCollection": return try members(value, "features", at: place)
    case "GeometryCollection": return try members(value, "geometries", at: place)
    case let other?:
      throw Fault(
        place: join("type"), message: "is no area: \"\(other)\"", remedy: "give a Polygon or MultiPolygon")
    case nil:
      throw Fault(place: join("type"), message: "is missing", remedy: "give a Polygon or MultiPolygon")
    }
  }

  private static func members(_ value: JSONValue, _ name: String, at place: String) throws(Fault) -> [[Ring]] {
    let place = place.isEmpty ? name : "\(place).\(name)"
    var polygons: [[Ring]] = []
    for (index, item) in try items(value[name], at: place).enumerated() {
      polygons += try Self.polygons(item, at: "\(place)[\(index)]")
    }
    return polygons
  }

  private static func items(_ value: JSONValue?, at place: String) throws(Fault) -> [JSONValue] {
    guard let items = value?.array else {
      throw Fault(place: place, message: value == nil ? "is missing" : "is not an array", remedy: "see RFC 7946")
    }
    return items
  }

  private static func rings(_ value: JSONValue?, at place: String) throws(Fault) -> [Ring] {
    var rings: [Ring] = []
    for (index, item) in try items(value, at: place).enumerated() {
      rings.append(try ring(item, at: "\(place)[\(index)]"))
    }
    guard !rings.isEmpty else { throw Fault(place: place, message: "is empty", remedy: "draw an outer ring") }
    return rings
  }

  private static func ring(_ value: JSONValue, at place: String) throws(Fault) -> Ring {
    var ring: Ring = []
    for (index, item) in try items(value, at: place).enumerated() {
      let numbers = item.array?.compactMap(\.finite) ?? []
      guard numbers.count >= 2, numbers.count == item.array?.count, abs(numbers[0]) <= 180, abs(numbers[1]) <= 90
      else {
        throw Fault(
          place: "\(place)[\(index)]", message: "is no position in degrees",
          remedy: "write [longitude, latitude]; cut polygons at the antimeridian")
      }
      ring.append(SIMD2(numbers[0], numbers[1]))
    }
    guard ring.count >= 4, ring.first == ring.last else {
      throw Fault(
        place: place, message: "is no closed ring", remedy: "give at least four positions, the last as the first")
    }
    return ring
  }
}
