import Support

/// A named place on a map. A bundle may hold a table of them (`PlaceTable`); `PlaceIndex` searches it.
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

  /// A place at a position in degrees; more important ones are found first.
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

  /// Each place once: of several of one name and kind at one position the last. Positions are compared to a millionth
  /// of a degree, since containers round them.
  package static func withoutRepeats(_ places: [Place]) -> [Place] {
    struct Key: Hashable {
      let words: [String]
      let position: SIMD2<Double>
    }
    var last: [Key: Int] = [:]
    let keys = places.map { place in
      Key(
        words: [place.name, place.kind],
        position: (SIMD2(place.longitude, place.latitude) * 1e6).rounded(.toNearestOrEven))
    }
    for (index, key) in keys.enumerated() { last[key] = index }
    return places.indices.filter { last[keys[$0]] == $0 }.map { places[$0] }
  }

  /// Longer names and kinds are refused.
  static let textBytesMax = 1000

  /// The order in which bundles store places: by falling importance, so that reading a few rows gives the most
  /// important ones; then by all other members, so that equal sets of places give equal tables.
  package static func precedes(_ a: Place, _ b: Place) -> Bool {
    if a.importance != b.importance { return a.importance > b.importance }
    if a.name != b.name { return a.name.unicodeScalars.lexicographicallyPrecedes(b.name.unicodeScalars) }
    if a.kind != b.kind { return a.kind.unicodeScalars.lexicographicallyPrecedes(b.kind.unicodeScalars) }
    return (a.longitude, a.latitude) < (b.longitude, b.latitude)
  }
}

/// The places of a bundle, in its order; in our own bundles that is by falling importance.
public struct StoredPlaces: Sendable {
  /// Without those that cannot be stored, as other makers' may be.
  package private(set) var valid: [Place] = []
  /// Why the first of those that were left out cannot be stored.
  private var fault: String?
  private var bytes = 0
  private let path: String

  /// None of the bundle at a path.
  init(of path: String) { self.path = path }

  /// Adds a place if it is valid.
  ///
  /// - Throws: ``BundleError`` with `.malformed` for more than ``MetadataLimits/placesBytesMax``.
  mutating func add(_ place: Place) throws {
    if let fault = place.fault { return leaveOut("the place \"\(place.name.prefix(60))\" \(fault)") }
    bytes += MemoryLayout<Place>.stride + place.name.utf8.count + place.kind.utf8.count
    guard bytes <= MetadataLimits.placesBytesMax else {
      throw BundleError(
        .malformed, path: path, "its places have more than \(MetadataLimits.placesBytesMax >> 20) MB",
        remedy: "make it again with fewer places")
    }
    valid.append(place)
  }

  /// Notes a place that cannot even be read.
  mutating func leaveOut(_ what: String) { fault = fault ?? what }

  /// All places, for a copy, which leaves none out in silence.
  ///
  /// - Throws: ``BundleError`` with `.malformed` if some are not valid.
  public func all() throws -> [Place] {
    if let fault {
      throw BundleError(
        .malformed, path: path, "\(fault), so that its places cannot be copied", remedy: "correct or delete it")
    }
    return valid
  }
}

/// The places of a bundle as GeoJSON (RFC 7946): a FeatureCollection of points with name, kind and importance. A tile
/// folder has it as a file, a PMTiles archive in its metadata.
enum PlaceDocument {
  /// The member of a PMTiles archive's metadata.
  static let member = "places"
  /// The file in a tile folder.
  static let fileName = "places.geojson"

  static func json(_ places: [Place]) -> JSONValue {
    let features = places.map { place in
      JSONValue.object([
        .init("type", .string("Feature")),
        .init(
          "properties",
          .object([
            .init("name", .string(place.name)), .init("kind", .string(place.kind)),
            .init("importance", .number(place.importance)),
          ])),
        .init(
          "geometry",
          .object([
            .init("type", .string("Point")), .init("coordinates", .numbers(place.longitude, place.latitude)),
          ])),
      ])
    }
    return .object([.init("type", .string("FeatureCollection")), .init("features", .array(features))])
  }

  /// The places of a document; nil when it is none of ours.
  ///
  /// - Throws: ``BundleError``.
  static func places(_ json: JSONValue?, of path: String) throws -> StoredPlaces? {
    guard let json, json["type"]?.string == "FeatureCollection", let features = json["features"]?.array else {
      return nil
    }
    var places = StoredPlaces(of: path)
    for feature in features {
      guard let name = feature["properties"]?["name"]?.string,
        let position = feature["geometry"]?["coordinates"]?.array?.compactMap(number), position.count == 2
      else {
        places.leaveOut("a feature among its places is not a point with a name")
        continue
      }
      let place = Place(
        name: name, kind: feature["properties"]?["kind"]?.string ?? "", longitude: position[0], latitude: position[1],
        importance: feature["properties"]?["importance"].flatMap(number) ?? 0)
      try places.add(place)
    }
    return places
  }

  private static func number(_ value: JSONValue) -> Double? {
    if case .number(let text) = value { Double(text) } else { nil }
  }
}
