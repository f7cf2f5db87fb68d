/// Where somebody went or means to go: lines of longitudes and latitudes in degrees. A line of one point is a place.
public struct Track: Hashable, Sendable {
  public var lines: [[SIMD2<Double>]]

  public init(lines: [[SIMD2<Double>]]) { self.lines = lines }

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
    let first = bytes.first { ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf].contains($0) }
    switch first {
    case UInt8(ascii: "{"): self = try GeoJSONTrack.read(bytes, path: path)
    case UInt8(ascii: "<"): self = try GPXTrack.read(bytes, path: path)
    default:
      throw TrackError(path: path, "is neither GPX nor GeoJSON", remedy: "export the track as one of them")
    }
    guard lines.contains(where: { !$0.isEmpty }) else {
      throw TrackError(path: path, "holds no point", remedy: "export the track with its points")
    }
  }
}

/// Why a file is no track.
public struct TrackError: Error, CustomStringConvertible, Sendable {
  public let path: String
  /// True when the file is not there or may not be read.
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
  /// Whether a position is one on Earth.
  static func isPlace(_ longitude: Double, _ latitude: Double) -> Bool {
    abs(longitude) <= 360 && abs(latitude) <= 90
  }
}
