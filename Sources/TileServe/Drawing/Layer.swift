import TileIndex

/// One tileset of a query.
struct Layer: Sendable {
  let source: any TileSource
  let info: TilesetInfo
  let policy: MissingTilePolicy
  /// Read before the first tile: a tile of a newer state may be kept under the older one, which nobody asks for again, never the other way round.
  let revision: SourceRevision

  init(_ source: any TileSource, policy: MissingTilePolicy) throws {
    revision = source.revision
    self.source = source
    self.policy = policy
    info = try source.info()
  }

  /// Pixels of a stored tile of a zoom, as far as can be told without one.
  func tileSize(zoom: Int) -> ImageSize {
    let matrix = info.matrixSet[zoom]
    // A set whose levels have tiles of different sizes is drawn at these; `tilePixels` is that of one level only.
    let uniform = info.matrixSet.matrices.allSatisfy {
      $0.tileWidth == matrix.tileWidth && $0.tileHeight == matrix.tileHeight
    }
    guard uniform, (1...Self.tilePixelsMax).contains(info.tilePixels), info.tilePixels != matrix.tileWidth else {
      return ImageSize(
        width: min(matrix.tileWidth, Self.tilePixelsMax), height: min(matrix.tileHeight, Self.tilePixelsMax))
    }
    return ImageSize(
      width: info.tilePixels,
      height: min(max(info.tilePixels * matrix.tileHeight / matrix.tileWidth, 1), Self.tilePixelsMax))
  }

  /// No tile is drawn wider or higher, whatever a damaged tile's header says of its size.
  private static let tilePixelsMax = 2048

  /// True when stored tiles have twice the grid's pixels already: they are their own `@2x`.
  func isDouble(zoom: Int) -> Bool { info.tilePixels >= 2 * info.matrixSet[zoom].tileWidth }

  /// A stored image, or nil when there is none.
  ///
  /// - Parameter asking: false: nil also where another server would have to be asked.
  /// - Throws: ``ServeError`` of code `damagedTile` when the bytes are no raster image; what the source throws.
  func image(_ tile: TileID, asking: Bool = true) throws -> StoredImage? {
    guard info.zooms.contains(tile.zoom), info.matrixSet.wholeRange(zoom: tile.zoom).contains(tile),
      let bytes = try asking ? source.storedTile(tile) : source.keptTile(tile)
    else { return nil }
    guard let format = bytes.withUnsafeBytes({ TileFormat(sniffing: $0) }), format != .pbf else {
      throw ServeError(
        .damagedTile,
        "tile \(tile) of \(info.id) is neither PNG nor JPEG nor WebP: check the bundle with tilecut verify")
    }
    return StoredImage(bytes: bytes, format: format, tile: tile, tilesetID: info.id, revision: revision)
  }
}

/// Pixels.
struct ImageSize: Hashable, Sendable {
  var width: Int
  var height: Int

  func times(_ factor: Int) -> ImageSize { ImageSize(width: width * factor, height: height * factor) }

  /// Large enough for both.
  func union(_ other: ImageSize) -> ImageSize {
    ImageSize(width: max(width, other.width), height: max(height, other.height))
  }
}
