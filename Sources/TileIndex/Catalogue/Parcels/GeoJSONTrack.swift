/// The points and lines of a GeoJSON document (RFC 7946); the rings of polygons count as lines.
enum GeoJSONTrack {
  static func read(_ bytes: [UInt8], path: String) throws -> Track {
    do {
      var lines: [[SIMD2<Double>]] = []
      try collect(try JSONValue(parsing: bytes), path: path, &lines)
      return Track(lines: lines)
    } catch let error as JSONValue.SyntaxError {
      throw TrackError(path: path, "is not valid JSON: \(error)", remedy: "export the track again")
    }
  }

  private static func collect(_ value: JSONValue, path: String, _ lines: inout [[SIMD2<Double>]]) throws {
    switch value["type"]?.string {
    case "Feature": if let geometry = value["geometry"], geometry != .null { try collect(geometry, path: path, &lines) }
    case "FeatureCollection": for item in value["features"]?.array ?? [] { try collect(item, path: path, &lines) }
    case "GeometryCollection": for item in value["geometries"]?.array ?? [] { try collect(item, path: path, &lines) }
    case "Point": lines.append([try point(value["coordinates"], path)])
    case "MultiPoint": for item in value["coordinates"]?.array ?? [] { lines.append([try point(item, path)]) }
    case "LineString": lines.append(try line(value["coordinates"], path))
    case "MultiLineString", "Polygon":
      for item in value["coordinates"]?.array ?? [] { lines.append(try line(item, path)) }
    case "MultiPolygon":
      for polygon in value["coordinates"]?.array ?? [] {
        for ring in polygon.array ?? [] { lines.append(try line(ring, path)) }
      }
    case let type:
      throw TrackError(
        path: path, "is no GeoJSON: its type is \(type.map { "\"\($0)\"" } ?? "missing")", remedy: "export the track again"
      )
    }
  }

  private static func line(_ value: JSONValue?, _ path: String) throws -> [SIMD2<Double>] {
    try (value?.array ?? []).map { try point($0, path) }
  }

  private static func point(_ value: JSONValue?, _ path: String) throws -> SIMD2<Double> {
    let numbers = (value?.array ?? []).prefix(2).compactMap(\.finite)
    guard numbers.count == 2, Track.isPlace(numbers[0], numbers[1]) else {
      throw TrackError(
        path: path, "holds a position that is none: \(value?.text.prefix(60) ?? "nothing")",
        remedy: "write [longitude, latitude] in degrees")
    }
    return SIMD2(numbers[0], numbers[1])
  }
}
