import Support
import TileIndex

/// A route or recorded track: lines of longitudes and latitudes in degrees. A line of one point is a waypoint.
public struct Track: Hashable, Sendable {
  public var lines: [[SIMD2<Double>]]

  public init(lines: [[SIMD2<Double>]]) { self.lines = lines }
}

/// Why a file cannot be read as a track.
public struct TrackError: Error, CustomStringConvertible, Sendable {
  public let path: String
  /// True when the file does not exist or may not be read.
  public let isUnreadable: Bool
  /// What is wrong; starts in lower case.
  public let message: String
  public let remedy: String

  init(path: String, isUnreadable: Bool = false, _ message: String, remedy: String) {
    (self.path, self.isUnreadable, self.message, self.remedy) = (path, isUnreadable, message, remedy)
  }

  /// `path: message; remedy`
  public var description: String { "\(path): \(message); \(remedy)" }
}

extension Track {
  /// Whether a position is valid.
  static func isPlace(_ longitude: Double, _ latitude: Double) -> Bool {
    abs(longitude) <= 360 && abs(latitude) <= 90
  }
}

extension Track {
  /// Reads a GPX or GeoJSON file.
  ///
  /// - Throws: ``TrackError``.
  public init(path: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      throw TrackError(path: path, isUnreadable: true, "cannot be read: \(error)", remedy: "check the name")
    }
    // White space, the byte order mark of UTF-8 and UTF-16, and the zero bytes of UTF-16.
    let first = bytes.first { ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf, 0xfe, 0xff, 0x00].contains($0) }
    switch first {
    case UInt8(ascii: "{"): self = try GeoJSONTrack.read(bytes, path: path)
    case UInt8(ascii: "<"): self = try GPXTrack.read(bytes, path: path)
    default:
      throw TrackError(path: path, "is neither GPX nor GeoJSON", remedy: "export the track as one of them")
    }
    guard lines.contains(where: { !$0.isEmpty }) else {
      throw TrackError(path: path, "has no points", remedy: "export the track with its points")
    }
  }
}

extension Track {
  /// The tiles of a zoom that the track crosses. Segments are straight in the grid's projection, and cross the
  /// antimeridian where that is shorter.
  ///
  /// - Complexity: O(points and tiles crossed).
  func tiles(zoom: Int, in matrixSet: TileMatrixSet) -> Set<TileID> {
    let matrix = matrixSet[zoom]
    let width = Double(matrix.matrixWidth)
    var tiles: Set<TileID> = []
    func add(_ row: Int, _ columns: ClosedRange<Int>) {
      // The southern edge of the world belongs to the last row.
      let row = min(row, matrix.matrixHeight - 1)
      guard row >= 0 else { return }
      for column in columns.clamped(to: -matrix.matrixWidth...2 * matrix.matrixWidth) {
        let turned = matrixSet.isGlobal ? (column + matrix.matrixWidth) % matrix.matrixWidth : column
        tiles.insert(TileID(unchecked: zoom, turned, row))
      }
    }
    for line in lines {
      var last: SIMD2<Double>?
      for point in line where abs(point.y) <= 90 && point.x.isFinite {
        let place = matrixSet.tileCoordinates(longitude: point.x, latitude: point.y, zoom: zoom)
        var end = place
        if let last, matrixSet.isGlobal, abs(place.x - last.x) > width / 2 {
          end.x += place.x < last.x ? width : -width
        }
        LineTiles.forEachRow(from: last ?? place, to: end, add)
        last = place
      }
    }
    return tiles
  }
}

/// Reads the points and lines of a GeoJSON document (RFC 7946); rings of polygons count as lines.
private enum GeoJSONTrack {
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

/// Reads the points of a GPX file (topografix.com/GPX/1/1): tracks, routes and waypoints.
private enum GPXTrack {
  static func read(_ bytes: [UInt8], path: String) throws -> Track {
    var lines: [[SIMD2<Double>]] = []
    var line: [SIMD2<Double>] = []
    var isGPX = false
    func endLine() {
      if !line.isEmpty { lines.append(line) }
      line = []
    }
    do {
      try XMLReader.read(bytes) { event in
        switch event {
        case .start("gpx", _, _): isGPX = true
        case .start("trkseg", _, _), .start("rte", _, _), .end("trkseg"), .end("rte"): endLine()
        case .start(let name, let attributes, let number) where name == "trkpt" || name == "rtept":
          line.append(try point(name, attributes, line: number, path))
        case .start("wpt", let attributes, let number):
          lines.append([try point("wpt", attributes, line: number, path)])
        default: break
        }
      }
    } catch let error as XMLReader.SyntaxError {
      throw TrackError(path: path, "is not well-formed XML: \(error)", remedy: "export the track again")
    }
    endLine()
    guard isGPX else { throw TrackError(path: path, "is XML, but no GPX", remedy: "export the track as GPX") }
    return Track(lines: lines)
  }

  private static func point(
    _ name: String, _ attributes: [String: String], line: Int, _ path: String
  ) throws -> SIMD2<Double> {
    guard let latitude = attributes["lat"].flatMap(number), let longitude = attributes["lon"].flatMap(number),
      Track.isPlace(longitude, latitude)
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
