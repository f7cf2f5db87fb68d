import Support
public import TileIndex

/// The description of a tileset for clients. It is complete: what the bundle's metadata leave out is derived from its
/// tiles.
public struct TilesetInfo: Hashable, Sendable {
  /// The name in URLs; several names joined by commas for a composite, the lowest first.
  public var id: String
  /// The title; the id where the bundle has none.
  public var name: String
  /// The bundle's metadata; of a composite those of its topmost layer.
  public var metadata: StoredMetadata
  /// The grid of the tiles.
  public var matrixSet: TileMatrixSet
  /// What the tiles are stored as.
  public var format: TileFormat
  /// The zooms that have tiles.
  public var zooms: ClosedRange<Int>
  /// Degrees; what the tiles cover where the bundle does not say. Across the antimeridian the east is beyond 180.
  public var bounds: BoundingBox
  /// Degrees and zoom; the middle of the bounds where the bundle does not say.
  public var center: BundleMetadata.Center
  /// Pixels along a stored tile's edge: 512 for tiles made for high-density screens on a grid of 256. For vector tiles
  /// that of the grid.
  public var tilePixels: Int
  /// When the bundle was last changed, in seconds since 1970.
  public var modified: Int
  /// True when the bundle has places, which can be searched.
  public var hasPlaces: Bool
  /// What makes the tileset slow or shows its tiles elsewhere, for the operator, with the remedy; empty for most.
  public var warnings: [BundleError] = []

  /// The facts of a tileset, which are not checked.
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
  /// For a flat image that is not georeferenced; nil for maps.
  var flatImage: FlatImage? {
    guard matrixSet == .webMercatorQuad else { return nil }
    return metadata[FlatImage.metadataKey].flatMap(FlatImage.init)
  }

  /// Whether areas end at different zooms, each where its sources have no more detail.
  var hasVariableDepth: Bool { metadata[VariableDepthMetadata.key].flatMap(VariableDepthMetadata.coarsest) != nil }
}

extension TilesetInfo {
  /// Reads a bundle's metadata and derives the rest from its tiles. Blocks.
  ///
  /// - Throws: `BundleError`; ``ServeError`` with `.unavailable` for a bundle without tiles.
  init(id: String, modified: Int, _ bundle: any BundleReader) throws {
    let metadata = bundle.metadata
    let matrixSet = bundle.matrixSet
    let zooms = try bundle.zooms()
    guard let first = zooms.first, let last = zooms.last, let finest = try bundle.range(zoom: last) else {
      throw ServeError(.unavailable, "\(Folder.name(bundle.path)): has no tiles, so there is nothing to serve")
    }
    let sample = try bundle.tileFormatAndPixels()
    guard let format = sample.format ?? metadata.format else {
      throw ServeError(
        .unavailable,
        """
        \(Folder.name(bundle.path)): its tiles are neither PNG, JPEG, WebP nor gzipped vector tiles, and it does not \
        say what they are
        """
      )
    }
    let (bounds, center) = metadata.location(zooms: zooms, finest: finest, in: matrixSet)
    let tilePixels = matrixSet[first].tileWidth
    self.init(
      id: id, name: metadata.name.flatMap { $0.isEmpty ? nil : $0 } ?? id, metadata: metadata, matrixSet: matrixSet,
      format: format, zooms: first...last, bounds: bounds, center: center,
      tilePixels: sample.pixels ?? tilePixels, modified: modified,
      // A bundle with unreadable places is still served as a map.
      hasPlaces: (try? bundle.hasPlaces) ?? false)
    warnings += [bundle.placementWarning, metadata.tilesElsewhere(finest, in: matrixSet, path: bundle.path)].compactMap(
      \.self)
    if bundle.scansForTiles { warnings.append(.notIndexed(bundle.path, "each request")) }
  }
}
