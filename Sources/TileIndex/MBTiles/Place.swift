/// A named place on a map. A bundle may hold a table of them (``PlaceTable``); the module Gazetteer searches it.
public struct Place: Hashable, Sendable, Codable {
  /// Not empty.
  public var name: String
  /// A word or two for people, such as `city`, `lake` or `peak`; empty when unknown.
  public var kind: String
  /// Degrees, from -180 to 180.
  public var longitude: Double
  /// Degrees, from -90 to 90.
  public var latitude: Double
  /// 0 to 1. Of two places with one name, the one that is more often meant has more.
  public var importance: Double

  public init(name: String, kind: String = "", longitude: Double, latitude: Double, importance: Double = 0) {
    self.name = name
    self.kind = kind
    self.longitude = longitude
    self.latitude = latitude
    self.importance = importance
  }

  /// Why the place cannot be stored; nil when it can.
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

  /// Longer names and kinds are refused.
  static let textBytesMax = 1000

  /// The order in which bundles store places: by falling importance, so that reading a few rows gives the most important ones; then by
  /// all other members, so that equal sets of places give equal tables.
  package static func precedes(_ a: Place, _ b: Place) -> Bool {
    if a.importance != b.importance { return a.importance > b.importance }
    if a.name != b.name { return a.name.unicodeScalars.lexicographicallyPrecedes(b.name.unicodeScalars) }
    if a.kind != b.kind { return a.kind.unicodeScalars.lexicographicallyPrecedes(b.kind.unicodeScalars) }
    return (a.longitude, a.latitude) < (b.longitude, b.latitude)
  }
}

/// A place as consecutive columns of a row: name, kind, longitude, latitude, importance.
extension Place {
  /// Reads the columns of a result row without checking them; see ``fault``.
  package init(_ statement: SQLiteStatement, from column: Int32) {
    self.init(
      name: statement.text(column) ?? "", kind: statement.text(column + 1) ?? "",
      longitude: statement.double(column + 2), latitude: statement.double(column + 3),
      importance: statement.double(column + 4))
  }

  /// Binds the members to consecutive parameters of a statement.
  func bind(to statement: SQLiteStatement, from parameter: Int32) throws {
    try statement.bind(name, at: parameter)
    try statement.bind(kind, at: parameter + 1)
    statement.bind(longitude, at: parameter + 2)
    statement.bind(latitude, at: parameter + 3)
    statement.bind(importance, at: parameter + 4)
  }
}
