/// The metadata of a bundle to be written. Format and zooms are not here: the writer derives them from the tiles.
public struct BundleMetadata: Hashable, Sendable, Codable {
  /// How a map shows the tileset.
  public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
    /// Drawn over another map.
    case overlay
    /// Drawn alone.
    case baselayer
  }

  /// The position and zoom that a viewer opens with.
  public struct Center: Hashable, Sendable, Codable {
    /// Degrees.
    public var longitude: Double
    /// Degrees.
    public var latitude: Double
    /// The zoom to begin with.
    public var zoom: Int

    /// A position in degrees, and the zoom to begin with.
    public init(longitude: Double, latitude: Double, zoom: Int) {
      self.longitude = longitude
      self.latitude = latitude
      self.zoom = zoom
    }
  }

  /// The title, never empty.
  public var name: String
  /// What the map shows, for people.
  public var description: String?
  /// Credits that a viewer must show; may contain HTML.
  public var attribution: String?
  /// Whether it is a map of its own, or lies over others.
  public var type: Kind
  /// Revision of this tileset, a number. Not the version of the MBTiles specification, with which it is often confused.
  public var version: String
  /// The covered area in degrees; a west greater than the east, or an edge beyond ±180, crosses the antimeridian.
  /// Nil for everything the tiles cover; areas that tiles of some zoom do not cover are always cut off.
  public var bounds: BoundingBox?
  /// Nil for the middle of the bounds at a zoom that shows all of them.
  public var center: Center?
  /// A JSON object with `vector_layers` (which vector tiles must have) or `tilestats`.
  public var json: String?
  /// Additional rows, under names that are not reserved.
  public var extra: [String: String]
  /// The formats of the tiles of a bundle that may mix them; nil for those that its writer accepts. A single one
  /// becomes the bundle's format.
  public var formats: Set<TileFormat>?
  /// Of the tiles; a sink sets it when it has them all.
  package var tilesHash: TilesHash?

  /// The metadata of a bundle to write, which are not checked.
  ///
  /// - Parameter version: 1 for a new tileset.
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

/// An image without georeference (a scan, a plan, an aerial photograph), cut into tiles that every map viewer can show.
///
/// Its top left corner is that of the world in WebMercatorQuad, and its pixels are those of the first zoom whose square
/// of tiles can hold it. The metadata say so (``metadataKey``), for readers that would otherwise show degrees.
package struct FlatImage: Hashable, Sendable {
  /// Pixels.
  package let width: Int
  /// Pixels.
  package let height: Int

  /// Name of the metadata row; its value is `width,height`.
  package static let metadataKey = "flat_image"

  /// - Parameters: pixels, from 1 up to the size of the grid.
  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Reads the metadata value; nil when it is invalid.
  package init?(_ text: String) {
    let numbers = text.split(separator: ",").compactMap { Int($0) }
    guard numbers.count == 2, numbers.allSatisfy({ (1...Self.edgeMax).contains($0) }) else { return nil }
    self.init(width: numbers[0], height: numbers[1])
  }

  /// The metadata value.
  package var text: String { "\(width),\(height)" }

  private static let edgeMax = 1 << 30

  /// The zoom at which image pixels are tile pixels.
  package var zoom: Int {
    var zoom = 0
    while 256 << zoom < max(width, height) { zoom += 1 }
    return zoom
  }
}

/// The metadata row of bundles whose tiles are not encoded as is usual for their format, such as with fewer colours:
/// the options of `tilecut cut` that encode others alike.
package enum TileEncodingRow {
  package static let key = "tile_encoding"
}

/// Metadata rows that identify the region a bundle was published for.
package enum RegionMetadata {
  package static let regionKey = "region"
  package static let productKey = "product_id"
  package static let editionKey = "edition"
  /// For a tile pack: its number and the number of all packs, `3/17`.
  package static let packKey = "pack"
}

/// The metadata row of bundles over whose pictures lines or labels were drawn: new pictures would cover parts of them,
/// and overviews have theirs in other places.
package enum DrawnLayersMetadata {
  package static let key = "drawn_layers"
}

/// The metadata row of bundles whose areas end at different zooms, each where its sources have no more detail: the
/// coarsest and the finest of these zooms, as `8-17`. Below the tiles of an area that ends nothing is missing.
package enum VariableDepthMetadata {
  package static let key = "variable_depth"

  package static func text(_ zooms: ClosedRange<Int>) -> String { "\(zooms.lowerBound)-\(zooms.upperBound)" }

  /// The coarsest zoom at which areas end; nil for a value that says none.
  package static func coarsest(_ text: String) -> Int? { zooms(text)?.lowerBound }

  /// The zooms at which areas end; nil for a value that says none.
  static func zooms(_ text: String) -> ClosedRange<Int>? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let first = parts[0], let last = parts[1], 0 <= first, first <= last else { return nil }
    return first...last
  }
}
