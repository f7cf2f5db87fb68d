import Support

/// Reads places from GeoJSON (RFC 7946).
enum GeoJSONGazetteer {
  static func places(_ bytes: [UInt8], path: String) throws -> [Place] {
    let document: JSONValue
    do {
      document = try JSONValue(parsing: bytes)
    } catch {
      throw GazetteerError(
        path: path, place: "line \(error.line)", "is not valid JSON: \(error.message)",
        remedy: "correct it, or write it again")
    }
    switch document["type"]?.string {
    case "FeatureCollection":
      guard let features = document["features"]?.array else {
        throw GazetteerError(path: path, place: "features", "is missing", remedy: "see RFC 7946, section 3.3")
      }
      let places = try features.enumerated().compactMap { try place($1, at: "features[\($0)]", path: path) }
      guard !places.isEmpty || features.isEmpty else {
        throw GazetteerError(
          path: path, "not one of its \(features.count) features has a name and a geometry",
          remedy: "give each place a \"name\" in its properties")
      }
      return places
    case "Feature": return [try place(document, at: "document", path: path)].compactMap { $0 }
    default:
      throw GazetteerError(
        path: path, place: "type", "is neither FeatureCollection nor Feature",
        remedy: "places need properties, so a gazetteer is made of features")
    }
  }

  private static func place(_ feature: JSONValue, at place: String, path: String) throws -> Place? {
    func malformed(_ member: String, _ message: String, _ remedy: String) -> GazetteerError {
      GazetteerError(path: path, place: "\(place)\(member)", message, remedy: remedy)
    }
    guard feature["type"]?.string == "Feature" else {
      throw malformed("", "is no Feature", "see RFC 7946, section 3.2")
    }
    let properties = feature["properties"] ?? .null
    func text(_ name: String) throws -> String? {
      switch properties[name] {
      case .none, .null: return nil
      case .string(let text): return text
      default: throw malformed(".properties.\(name)", "is no text", "put it in quotation marks")
      }
    }
    guard let name = try text("name"), !name.isEmpty, let geometry = feature["geometry"], geometry != .null else {
      return nil
    }
    let point: SIMD2<Double>?
    do {
      point = try GeoJSONGeometry(geometry, at: "\(place).geometry").representativePoint
    } catch {
      throw GazetteerError(path: path, place: error.place, error.message, remedy: "see RFC 7946, section 3.1")
    }
    guard let point else { return nil }
    let found = Place(
      name: name, kind: try text("kind") ?? "", longitude: TileMatrixSet.wrapped(point.x), latitude: point.y,
      importance: try importance(properties) { malformed(".properties.\($0)", $1, $2) })
    if let fault = found.fault { throw malformed("", fault, "correct it, or leave it out") }
    return found
  }

  private static func importance(
    _ properties: JSONValue, _ malformed: (String, String, String) -> GazetteerError
  ) throws -> Double {
    func number(_ name: String) throws -> Double? {
      switch properties[name] {
      case .none, .null: return nil
      case .number(let digits): return Double(digits)
      default: throw malformed(name, "is no number", "write it without quotation marks")
      }
    }
    if let importance = try number("importance") {
      guard (0...1).contains(importance) else {
        throw malformed("importance", "\(importance) is outside 0 to 1", "1 is for the best-known places")
      }
      return importance
    }
    return PlaceImportance.ofPopulation(try number("population") ?? 0)
  }
}

/// The point that represents a geometry, where its name is drawn.
extension GeoJSONGeometry {
  /// The point itself, the middle of the longest line, or a point inside the largest area. Nil for an empty collection.
  var representativePoint: SIMD2<Double>? {
    switch self {
    case .points(let points): points.first
    case .lines(let lines): lines.max { Self.length($0) < Self.length($1) }.map(Self.middle)
    case .polygons(let polygons): polygons.max { $0.size < $1.size }.map(\.innerPoint)
    case .collection(let parts): parts.lazy.compactMap(\.representativePoint).first
    }
  }

  /// In degrees, which suffices to compare lines.
  private static func length(_ line: [SIMD2<Double>]) -> Double {
    zip(line, line.dropFirst()).reduce(0) { $0 + distance($1.0, $1.1) }
  }

  private static func middle(_ line: [SIMD2<Double>]) -> SIMD2<Double> {
    var left = length(line) / 2
    for (a, b) in zip(line, line.dropFirst()) {
      let step = distance(a, b)
      if step >= left, step > 0 { return a + (b - a) * (left / step) }
      left -= step
    }
    return line[0]
  }

  private static func distance(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double {
    ((b - a) * (b - a)).sum().squareRoot()
  }
}

extension Polygon {
  /// Twice the area of the outer ring in square degrees, never negative.
  fileprivate var size: Double {
    abs(zip(rings[0], rings[0].dropFirst()).reduce(0) { $0 + ($1.0.x * $1.1.y - $1.1.x * $1.0.y) })
  }

  /// The centroid of the outer ring if it lies inside; otherwise the middle of the widest section at half the ring's
  /// height.
  fileprivate var innerPoint: SIMD2<Double> {
    let origin = rings[0][0]
    var sum = SIMD2(0.0, 0.0)
    var area = 0.0
    for (a, b) in zip(rings[0], rings[0].dropFirst()) {
      let (a, b) = (a - origin, b - origin)
      let cross = a.x * b.y - b.x * a.y
      area += cross
      sum += (a + b) * cross
    }
    let centre = area == 0 ? bounds.centre : origin + sum / (3 * area)
    if contains(centre) { return centre }
    let height = bounds.centre.y
    var crossings: [Double] = []
    for ring in rings {
      for (a, b) in zip(ring, ring.dropFirst()) where (a.y > height) != (b.y > height) {
        crossings.append(a.x + (height - a.y) / (b.y - a.y) * (b.x - a.x))
      }
    }
    crossings.sort()
    let stretches = stride(from: 0, to: crossings.count - 1, by: 2).map { (crossings[$0], crossings[$0 + 1]) }
    guard let widest = stretches.max(by: { $0.1 - $0.0 < $1.1 - $1.0 }) else { return rings[0][0] }
    return SIMD2((widest.0 + widest.1) / 2, height)
  }
}
