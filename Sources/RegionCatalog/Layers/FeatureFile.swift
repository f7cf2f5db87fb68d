public import Support
import TileIndex

/// Reads the features of GeoJSON and GPX files.
package enum FeatureFile {
  /// Reads all features of a file of at most 1 GiB.
  ///
  /// - Parameter properties: the names of those that are wanted; nil for all.
  /// - Throws: ``TrackError``.
  package static func features(path: String, properties: Set<String>? = nil) throws -> [MapFeature] {
    guard FileSystem.size(path) <= GeoJSONGeometry.bytesMax else {
      throw TrackError(path: path, "has more than 1 GiB", remedy: "export a part of it")
    }
    var features: [MapFeature] = []
    try read(path: path, properties: properties) { features.append($0) }
    return features
  }

  /// Reads a feature at a time: of the file some hundred kilobytes are in memory, or its longest line.
  ///
  /// - Parameters:
  ///   - properties: the names of those that are wanted; nil for all.
  ///   - body: called for each feature, in their order.
  /// - Returns: how many features have no geometry, and so no place.
  /// - Throws: ``TrackError``; `CancellationError`; what the closure throws.
  @discardableResult
  package static func read(
    path: String, properties: Set<String>?, _ body: (MapFeature) throws -> Void
  ) throws -> Int {
    var placeless = 0
    func take(_ feature: MapFeature) throws {
      try Cancellation.check()
      try body(feature)
    }
    do {
      let file = try JSONFile.open(path)
      let start = try file.bytes(at: 0, count: min(file.byteCount, 1 << 12))
      // White space, the byte order mark of UTF-8 and UTF-16, and the zero bytes of UTF-16.
      switch start.first(where: { ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf, 0xfe, 0xff, 0x00].contains($0) }) {
      case UInt8(ascii: "{"):
        try GeoJSONReader.read(file, properties: properties) { feature in
          guard let geometry = feature.geometry, !geometry.isEmpty else {
            placeless += 1
            return
          }
          let values = feature.properties.filter { $0.value != .null }.map { ($0.name, StyleValue($0.value)) }
          let properties = Dictionary(values) { $1 }
          // As MapLibre does: a point and an area in one collection need rules of their kinds.
          for member in geometry.members { try take(MapFeature(member, properties: properties)) }
        }
      case UInt8(ascii: "<"): try GPXFeatures.read(file, path: path, properties: properties, take)
      default: throw TrackError(path: path, "is neither GPX nor GeoJSON", remedy: "export it as one of them")
      }
    } catch let error as JSONValue.SyntaxError {
      throw TrackError(path: path, "is not valid JSON: \(error)", remedy: "export it again")
    } catch let error as GeoJSONGeometry.Fault {
      throw TrackError(path: path, "\(error)", remedy: "export it again as GeoJSON")
    } catch let error as XMLReader.SyntaxError {
      throw TrackError(path: path, "is not well-formed XML: \(error)", remedy: "export it again")
    } catch let error as JSONFile.Unreadable {
      throw TrackError(.unreadable, path: path, "cannot be read: \(error)", remedy: "check the name")
    } catch let error as FileSystem.SystemError {
      throw TrackError(.unreadable, path: path, "cannot be read: \(error)", remedy: "check the disk")
    }
    return placeless
  }
}

/// Reads the tracks, routes and waypoints of a GPX file (topografix.com/GPX/1/1). A feature's properties are the
/// elements with text in it, such as `name` and `sym`, and `gpx`, which is `trk`, `rte` or `wpt`. Whatever lies deeper
/// in such elements, and in `extensions`, belongs to other programs.
private struct GPXFeatures {
  private let path: String
  private let wanted: Set<String>?
  private var isGPX = false
  /// Of the feature that is being read.
  private var lines: [[SIMD2<Double>]] = []
  private var line: [SIMD2<Double>] = []
  private var properties: [String: StyleValue] = [:]
  /// The elements around the present place, inside of the feature.
  private var open: [String] = []
  /// How many elements are open from the outermost one on that has no points of the file.
  private var leafDepth = 0
  private var text = ""

  static func read(
    _ source: any ByteSource, path: String, properties: Set<String>?, _ body: (MapFeature) throws -> Void
  ) throws {
    var reader = GPXFeatures(path: path, wanted: properties)
    try XMLReader.read(source) { event in
      if let feature = try reader.take(event) { try body(feature) }
    }
    guard reader.isGPX else {
      throw TrackError(path: path, "is XML, but no GPX", remedy: "export it as GPX or GeoJSON")
    }
  }

  private init(path: String, wanted: Set<String>?) { (self.path, self.wanted) = (path, wanted) }

  /// The elements that points lie in, and points.
  private static let structure: Set<String> = ["trk", "trkseg", "trkpt", "rte", "rtept", "wpt"]

  /// - Returns: the feature that ends here.
  private mutating func take(_ event: XMLReader.Event) throws -> MapFeature? {
    switch event {
    case .start("gpx", _, _) where leafDepth == 0: isGPX = true
    case .start(let name, let attributes, let number):
      text = ""
      guard leafDepth == 0, Self.structure.contains(name) else {
        leafDepth += 1
        return nil
      }
      if open.isEmpty { properties = isWanted("gpx") ? ["gpx": .string(name)] : [:] }
      open.append(name)
      switch name {
      case "trkseg": endLine()
      case "trkpt", "rtept", "wpt": line.append(try point(name, attributes, line: number))
      default: break
      }
    case .text(let piece): text += piece
    case .end(let name):
      guard leafDepth == 0 else {
        leafDepth -= 1
        // A child of the feature itself, not of one of its points.
        if leafDepth == 0, open.count == 1, isWanted(name), !text.allSatisfy(\.isWhitespace) {
          properties[name] = .string(String(text.drop(while: \.isWhitespace)))
        }
        text = ""
        return nil
      }
      guard open.last == name else { return nil }
      text = ""
      open.removeLast()
      if name == "trkseg" { endLine() }
      if open.isEmpty { return endFeature(name) }
    }
    return nil
  }

  private func isWanted(_ name: String) -> Bool { wanted?.contains(name) ?? true }

  private mutating func endLine() {
    // A copy that is as large as it needs to be.
    if !line.isEmpty { lines.append(line.withUnsafeBufferPointer { Array($0) }) }
    line.removeAll(keepingCapacity: true)
  }

  private mutating func endFeature(_ name: String) -> MapFeature? {
    endLine()
    guard !lines.isEmpty else { return nil }
    let geometry: GeoJSONGeometry = name == "wpt" ? .points(lines[0]) : .lines(lines)
    lines = []
    return MapFeature(geometry, properties: properties)
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
public struct TrackError: ToolkitError {
  /// The kind of failure.
  public struct Code: Hashable, Sendable {
    private let name: String

    /// The file does not exist or may not be read.
    public static let unreadable = Code(name: "unreadable track")
    /// It is no GPX or GeoJSON, or has no track.
    public static let malformed = Code(name: "malformed track")
  }

  /// The kind of failure.
  public let code: Code
  /// The file.
  public let path: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it; begins in lower case.
  public let remedy: String?

  init(_ code: Code = .malformed, path: String, _ message: String, remedy: String) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }
}
