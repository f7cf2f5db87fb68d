/// Something on a map that people look for by its name.
public struct Place: Hashable, Sendable, Codable {
  /// Never empty.
  public var name: String
  /// One word or a few for people: `city`, `lake`, `peak`; empty where nothing is known.
  public var kind: String
  /// Degrees, from -180 to 180.
  public var longitude: Double
  /// Degrees, from -90 to 90.
  public var latitude: Double
  /// From 0 to 1: which of two places of one name is meant more often.
  public var importance: Double

  public init(name: String, kind: String = "", longitude: Double, latitude: Double, importance: Double = 0) {
    self.name = name
    self.kind = kind
    self.longitude = longitude
    self.latitude = latitude
    self.importance = importance
  }

  /// What keeps it from being stored; nil for a place in order.
  package var fault: String? {
    if name.isEmpty { return "has no name" }
    if name.utf8.contains(0) || kind.utf8.contains(0) { return "holds a NUL character" }
    if name.utf8.count > Self.textBytesMax || kind.utf8.count > Self.textBytesMax {
      return "has a name or kind of more than \(Self.textBytesMax) bytes"
    }
    if !(longitude >= -180 && longitude <= 180) { return "has the longitude \(longitude), outside -180 to 180" }
    if !(latitude >= -90 && latitude <= 90) { return "has the latitude \(latitude), outside -90 to 90" }
    if !(importance >= 0 && importance <= 1) { return "has the importance \(importance), outside 0 to 1" }
    return nil
  }

  /// No honest name is as long.
  static let textBytesMax = 1000

  /// The order in which bundles keep places: the most important first, so that whoever reads only the first few has those; then a full order.
  package static func precedes(_ a: Place, _ b: Place) -> Bool {
    if a.importance != b.importance { return a.importance > b.importance }
    if a.name != b.name { return a.name.unicodeScalars.lexicographicallyPrecedes(b.name.unicodeScalars) }
    if a.kind != b.kind { return a.kind.unicodeScalars.lexicographicallyPrecedes(b.kind.unicodeScalars) }
    return (a.longitude, a.latitude) < (b.longitude, b.latitude)
  }
}
