import Support

/// The points and lines of a GeoJSON document (RFC 7946); the rings of polygons count as lines.
enum GeoJSONTrack {
  static func read(_ bytes: [UInt8], path: String) throws -> Track {
    do {
      var track = Track(lines: [])
      try collect(try JSONValue(parsing: bytes), at: "", &track)
      return track
    } catch let error as JSONValue.SyntaxError {
      throw TrackError(path: path, "is not valid JSON: \(error)", remedy: "export the track again")
    } catch let error as GeoJSONGeometry.Fault {
      throw TrackError(path: path, "\(error)", remedy: "export the track again as GeoJSON")
    }
  }

  private static func collect(_ value: JSONValue, at place: String, _ track: inout Track) throws(GeoJSONGeometry.Fault)
  {
    switch value["type"]?.string {
    case "FeatureCollection":
      for (index, feature) in (value["features"]?.array ?? []).enumerated() {
        try collect(feature, at: "features[\(index)]", &track)
      }
    case "Feature":
      guard let geometry = value["geometry"], geometry != .null else { return }
      add(try GeoJSONGeometry(geometry, at: place.isEmpty ? "geometry" : "\(place).geometry"), &track)
    default: add(try GeoJSONGeometry(value, at: place.isEmpty ? "document" : place), &track)
    }
  }

  private static func add(_ geometry: GeoJSONGeometry, _ track: inout Track) {
    switch geometry {
    case .points(let points): track.lines += points.map { [$0] }
    case .lines(let lines): track.lines += lines
    case .polygons(let polygons): track.lines += polygons.flatMap(\.rings)
    case .collection(let parts): for part in parts { add(part, &track) }
    }
  }
}
