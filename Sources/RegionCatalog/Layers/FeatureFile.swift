import Support
import TileIndex

/// Reads the features of GeoJSON and GPX files.
package enum FeatureFile {
  /// - Throws: ``TrackError``.
  package static func features(path: String) throws -> [MapFeature] {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      throw TrackError(path: path, isUnreadable: true, "cannot be read: \(error)", remedy: "check the name")
    }
    // White space, the byte order mark of UTF-8 and UTF-16, and the zero bytes of UTF-16.
    let first = bytes.first { ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf, 0xfe, 0xff, 0x00].contains($0) }
    switch first {
    case UInt8(ascii: "{"): return try GeoJSONFeatures.read(bytes, path: path)
    case UInt8(ascii: "<"): return try GPXFeatures.read(bytes, path: path)
    default:
      throw TrackError(path: path, "is neither GPX nor GeoJSON", remedy: "export it as one of them")
    }
  }
}

/// Reads the features of a GeoJSON document (RFC 7946).
private enum GeoJSONFeatures {
  static func read(_ bytes: [UInt8], path: String) throws -> [MapFeature] {
    do {
      var features: [MapFeature] = []
      try collect(try JSONValue(parsing: bytes), at: "", &features)
      return features
    } catch let error as JSONValue.SyntaxError {
      throw TrackError(path: path, "is not valid JSON: \(error)", remedy: "export it again")
    } catch let error as GeoJSONGeometry.Fault {
      throw TrackError(path: path, "\(error)", remedy: "export it again as GeoJSON")
    }
  }

  private static func collect(
    _ value: JSONValue, at place: String, _ features: inout [MapFeature]
  ) throws(GeoJSONGeometry.Fault) {
    switch value["type"]?.string {
    case "FeatureCollection":
      guard let list = value["features"]?.array else {
        throw GeoJSONGeometry.Fault(
          place: place.isEmpty ? "features" : "\(place).features",
          message: value["features"].map { "is \($0.kind), not an array" } ?? "is missing")
      }
      for (index, feature) in list.enumerated() { try collect(feature, at: "features[\(index)]", &features) }
    case "Feature":
      guard let geometry = value["geometry"], geometry != .null else { return }
      var properties: [String: StyleValue] = [:]
      for member in value["properties"]?.members ?? [] where member.value != .null {
        properties[member.name] = StyleValue(member.value)
      }
      features.append(
        MapFeature(
          try GeoJSONGeometry(geometry, at: place.isEmpty ? "geometry" : "\(place).geometry"), properties: properties))
    default:
      features.append(
        MapFeature(try GeoJSONGeometry(value, at: place.isEmpty ? "document" : place), properties: [:]))
    }
  }
}

/// Reads the tracks, routes and waypoints of a GPX file (topografix.com/GPX/1/1). A feature's properties are the
/// elements with text in it, such as `name` and `sym`, and `gpx`, which is `trk`, `rte` or `wpt`.
private struct GPXFeatures {
  private let path: String
  private var features: [MapFeature] = []
  private var isGPX = false
  /// Of the feature that is being read.
  private var lines: [[SIMD2<Double>]] = []
  private var line: [SIMD2<Double>] = []
  private var properties: [String: StyleValue] = [:]
  /// The elements around the present place, inside of the feature.
  private var open: [String] = []
  private var text = ""

  static func read(_ bytes: [UInt8], path: String) throws -> [MapFeature] {
    var reader = GPXFeatures(path: path)
    do {
      try XMLReader.read(bytes) { try reader.take($0) }
    } catch let error as XMLReader.SyntaxError {
      throw TrackError(path: path, "is not well-formed XML: \(error)", remedy: "export it again")
    }
    guard reader.isGPX else {
      throw TrackError(path: path, "is XML, but no GPX", remedy: "export it as GPX or GeoJSON")
    }
    return reader.features
  }

  private init(path: String) { self.path = path }

  private static let kinds = ["trk", "rte", "wpt"]

  private mutating func take(_ event: XMLReader.Event) throws {
    switch event {
    case .start("gpx", _, _): isGPX = true
    case .start(let name, let attributes, let number):
      text = ""
      if open.isEmpty, !Self.kinds.contains(name), name != "trkseg", name != "trkpt", name != "rtept" { return }
      if open.isEmpty { properties = ["gpx": .string(name)] }
      open.append(name)
      switch name {
      case "trkseg": endLine()
      case "trkpt", "rtept", "wpt": line.append(try point(name, attributes, line: number))
      default: break
      }
    case .text(let piece): text += piece
    case .end(let name):
      guard open.last == name else { return }
      // A child of the feature itself, not of one of its points.
      if open.count == 2, open[0] != name, name != "trkseg", !text.allSatisfy(\.isWhitespace) {
        properties[name] = .string(String(text.drop(while: \.isWhitespace)))
      }
      text = ""
      open.removeLast()
      if name == "trkseg" { endLine() }
      if open.isEmpty { endFeature(name) }
    }
  }

  private mutating func endLine() {
    if !line.isEmpty { lines.append(line) }
    line = []
  }

  private mutating func endFeature(_ name: String) {
    endLine()
    guard !lines.isEmpty else { return }
    let geometry: GeoJSONGeometry = name == "wpt" ? .points(lines[0]) : .lines(lines)
    features.append(MapFeature(geometry, properties: properties))
    lines = []
  }

  private func point(
    _ name: String, _ attributes: [String: String], line: Int
  ) throws -> SIMD2<Double> {
    guard let latitude = attributes["lat"].flatMap(Self.number), let longitude = attributes["lon"].flatMap(Self.number),
      abs(longitude) <= 360, abs(latitude) <= 90
    else {
      throw TrackError(
        path: path, "holds a point without a position: <\(name)> in line \(line)", remedy: "give lat and lon in degrees"
      )
    }
    return SIMD2(longitude, latitude)
  }

  private static func number(_ text: String) -> Double? {
    guard let number = Double(String(text.drop { $0.isWhitespace })), number.isFinite else { return nil }
    return number
  }
}

/// Why a file cannot be read as a track.
public struct TrackError: Error, CustomStringConvertible, Sendable {
  /// The file.
  public let path: String
  /// True when the file does not exist or may not be read.
  public let isUnreadable: Bool
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it; begins in lower case.
  public let remedy: String

  init(path: String, isUnreadable: Bool = false, _ message: String, remedy: String) {
    (self.path, self.isUnreadable, self.message, self.remedy) = (path, isUnreadable, message, remedy)
  }

  /// `path: message; remedy`
  public var description: String { "\(path): \(message); \(remedy)" }
  /// What is wrong, with the name of the file: a sentence for people.
  public var errorDescription: String? { Sentence.of(file: path, message) }
  /// What to do about it: a sentence for people.
  public var recoverySuggestion: String? { Sentence.of(remedy) }
}
