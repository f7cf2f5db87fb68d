/// Where somebody went or means to go: lines of longitudes and latitudes in degrees. A line of one point is a place.
public struct Track: Hashable, Sendable {
  public var lines: [[SIMD2<Double>]]

  public init(lines: [[SIMD2<Double>]]) { self.lines = lines }
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
