import Support

/// Places out of GeoJSON (RFC 7946).
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
        throw malformed("importance", "\(importance) is outside 0 to 1", "1 is for what everybody knows")
      }
      return importance
    }
    return PlaceImportance.ofPopulation(try number("population") ?? 0)
  }
}
