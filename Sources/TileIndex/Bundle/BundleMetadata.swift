/// What a bundle says about itself, as its maker gives it. Format and zooms are not here: the writer knows them from the tiles.
public struct BundleMetadata: Hashable, Sendable {
  /// How a map shows the tileset.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// Drawn over another map.
    case overlay
    /// Drawn alone.
    case baselayer
  }

  /// The place and zoom that a viewer opens with.
  public struct Center: Hashable, Sendable, Codable {
    /// Degrees.
    public var longitude: Double
    /// Degrees.
    public var latitude: Double
    public var zoom: Int

    public init(longitude: Double, latitude: Double, zoom: Int) {
      self.longitude = longitude
      self.latitude = latitude
      self.zoom = zoom
    }
  }

  /// The title, never empty.
  public var name: String
  public var description: String?
  /// Credits that a viewer must show; may hold HTML.
  public var attribution: String?
  public var type: Kind
  /// Revision of this tileset, a number. Not that of the MBTiles specification, with which it is often confused.
  public var version: String
  /// The region in degrees; a west greater than the east, or an edge beyond ±180, crosses the antimeridian.
  /// Nil for all that the tiles cover; what tiles of some zoom do not cover is cut off in any case.
  public var bounds: BoundingBox?
  /// Nil for the middle of the bounds at a zoom that shows all of them.
  public var center: Center?
  /// A JSON object with `vector_layers` (which vector tiles must have) or `tilestats`.
  public var json: String?
  /// More rows; their names are none of those above.
  public var extra: [String: String]

  /// - Parameter version: a new tileset is revision 1 unless its maker counts otherwise.
  public init(
    name: String, description: String? = nil, attribution: String? = nil, type: Kind = .baselayer,
    version: String = "1",
    bounds: BoundingBox? = nil, center: Center? = nil, json: String? = nil, extra: [String: String] = [:]
  ) {
    self.name = name
    self.description = description
    self.attribution = attribution
    self.type = type
    self.version = version
    self.bounds = bounds
    self.center = center
    self.json = json
    self.extra = extra
  }
}
