public import TileIndex

/// What clients are told about a tileset: nothing here is missing, because what a bundle does not say is found out from its tiles.
public struct TilesetInfo: Hashable, Sendable {
  /// The name in URLs; several names joined by commas for a composite, the lowest first.
  public var id: String
  /// The title; the id where the bundle has none.
  public var name: String
  /// The bundle's own words; of a composite those of its topmost layer.
  public var metadata: StoredMetadata
  /// The grid of the tiles.
  public var matrixSet: TileMatrixSet
  /// What the tiles are stored as.
  public var format: TileFormat
  /// The zooms that have tiles.
  public var zooms: ClosedRange<Int>
  /// Degrees; what the tiles cover where the bundle does not say.
  public var bounds: BoundingBox
  /// Degrees and zoom; the middle of the bounds where the bundle does not say.
  public var center: BundleMetadata.Center
  /// Pixels along a stored tile's edge: 512 for tiles made for high-density screens on a grid of 256. For vector tiles that of the grid.
  public var tilePixels: Int
  /// When the bundle was last changed, in seconds since 1970.
  public var modified: Int
  /// True when there are places to look for.
  public var hasPlaces: Bool

  public init(
    id: String, name: String, metadata: StoredMetadata, matrixSet: TileMatrixSet, format: TileFormat,
    zooms: ClosedRange<Int>, bounds: BoundingBox, center: BundleMetadata.Center, tilePixels: Int, modified: Int,
    hasPlaces: Bool = false
  ) {
    self.id = id
    self.name = name
    self.metadata = metadata
    self.matrixSet = matrixSet
    self.format = format
    self.zooms = zooms
    self.bounds = bounds
    self.center = center
    self.tilePixels = tilePixels
    self.modified = modified
    self.hasPlaces = hasPlaces
  }
}

extension TilesetInfo {
  /// What the bundle says of a picture that lies nowhere on Earth; nil for maps.
  var flatImage: FlatImage? {
    guard matrixSet == .webMercatorQuad else { return nil }
    return metadata[FlatImage.metadataKey].flatMap(FlatImage.init)
  }
}
