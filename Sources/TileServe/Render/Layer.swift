import TileImage
import TileIndex

/// One tileset of a query.
struct Layer: Sendable {
  let source: any TileSource
  let info: TilesetInfo
  let policy: MissingTilePolicy
  /// Read before the first tile: a tile of a newer state may be cached under the older revision, which is never
  /// requested again, but not the reverse.
  let revision: SourceRevision
  /// Read before the first tile.
  let edition: SourceRevision
  /// Whether JPEG tiles end at the tileset's bounds. They have no transparency, so beyond these they would hide what
  /// other layers show.
  let isClipped: Bool

  init(_ source: any TileSource, policy: MissingTilePolicy, isClipped: Bool = false) throws {
    self.isClipped = isClipped
    (revision, edition) = (source.revision, source.edition)
    self.source = source
    self.policy = policy
    info = try source.info()
  }

  /// Pixels of a stored tile of a zoom, as far as known without reading one.
  func tileSize(zoom: Int) -> ImageSize {
    let matrix = info.matrixSet[zoom]
    // If tile sizes differ between levels the grid's sizes count; `tilePixels` is that of one level only.
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

  /// The largest size of a rendered tile, whatever a damaged tile's header says.
  private static let tilePixelsMax = 2048

  /// True if stored tiles already have twice the grid's pixels, so that they serve as `@2x`.
  func isDouble(zoom: Int) -> Bool { info.tilePixels >= 2 * info.matrixSet[zoom].tileWidth }

  /// A stored image, or nil if there is none.
  ///
  /// - Parameter asking: if false, nil also if the upstream would have to be asked.
  /// - Throws: ``ServeError`` of code `damagedTile` when the bytes are no raster image; what the source throws.
  func image(_ tile: TileID, asking: Bool = true) throws -> StoredImage? {
    guard info.zooms.contains(tile.zoom), info.matrixSet.wholeRange(zoom: tile.zoom).contains(tile),
      let bytes = try asking ? source.storedTile(tile) : source.keptTile(tile)
    else { return nil }
    guard let format = bytes.withUnsafeBytes({ TileFormat(sniffing: $0) }), format != .pbf else {
      throw ServeError(
        .damagedTile,
        "tile \(tile) of \(info.id) is neither PNG nor JPEG nor WebP: verify the bundle")
    }
    var image = StoredImage(bytes: bytes, format: format, tile: tile, tilesetID: info.id, revision: revision)
    // Without transparency, what lies beyond the bounds would cover a neighbour.
    if isClipped, image.isOpaqueByHeader { image.shown = shown(tile) }
    return image
  }

  /// The part of a tile within the bounds; nil for all of it.
  private func shown(_ tile: TileID) -> TileShare? {
    let (set, degrees) = (info.matrixSet, info.bounds)
    // Across the antimeridian, and on grids that do not lie on Earth, no side is known to be beyond them.
    guard info.flatImage == nil, degrees.west >= -180, degrees.east <= 180, degrees.west < degrees.east else {
      return nil
    }
    let (box, whole) = (set.crsBounds(ofGeographicBounds: degrees), set.bounds(of: tile))
    guard whole.width > 0, whole.height > 0, box.width > 0, box.height > 0 else { return nil }
    let share = TileShare(
      left: (box.west - whole.west) / whole.width, top: (whole.north - box.north) / whole.height,
      right: (box.east - whole.west) / whole.width, bottom: (whole.north - box.south) / whole.height)
    return share.isWhole ? nil : share
  }
}

extension Layer {
  /// A tile at scale 1: itself, or with the policy overzoom a part of its nearest ancestor, which also replaces it
  /// while an upstream is unreachable.
  func piece(_ tile: TileID) throws -> LayerPiece? {
    switch try look(tile) {
    case .image(let image): .whole(image)
    case .nothing: policy == .overzoom ? try enlargedPiece(tile) : nil
    case .unavailable(let error): try enlargedPiece(tile, despite: error)
    }
  }

  /// Reads a stored tile. With the policy overzoom an unreachable upstream is no failure.
  private func look(_ tile: TileID) throws -> Look {
    do {
      return try image(tile).map { .image($0) } ?? .nothing
    } catch let error as ServeError where error.code == .unavailable && policy == .overzoom {
      return .unavailable(error)
    }
  }

  /// The tile itself, or the part of its nearest ancestor that covers it, at a multiple of a tile's size; nil if there
  /// is neither.
  func enlargedPiece(_ tile: TileID, scale: Int) throws -> LayerPiece? {
    let size = tileSize(zoom: tile.zoom).times(scale)
    switch try look(tile) {
    case .image(let image): return .part(AncestorPart(image: image, column: .whole, row: .whole), size: size)
    case .nothing: return try ancestorPart(tile, despite: nil).map { .part($0, size: size) }
    case .unavailable(let error): return try ancestorPart(tile, despite: error).map { .part($0, size: size) }
    }
  }

  /// The part of the nearest ancestor that covers a tile; nil if no ancestor that is near enough exists.
  ///
  /// - Parameter failure: why the tile itself, or a nearer ancestor, is unavailable: no upstream is asked for the
  ///   ancestors then either.
  /// - Throws: the failure if no ancestor is cached.
  private func enlargedPiece(_ tile: TileID, despite failure: (any Error)? = nil) throws -> LayerPiece? {
    guard let part = try ancestorPart(tile, despite: failure) else { return nil }
    return .part(part, size: tileSize(zoom: tile.zoom))
  }

  /// The tiles of the next zoom as one piece.
  ///
  /// - Returns: nil if none of the tiles exists. Otherwise, with the policy overzoom, missing ones are replaced by
  ///   parts of this tile or of an ancestor.
  /// - Precondition: the grid has a next zoom, and the step to it is 2.
  func doubledPiece(_ tile: TileID) throws -> LayerPiece? {
    guard info.zooms.contains(tile.zoom + 1) else { return nil }
    let children = tile.children
    let looks = try children.map(look)
    var failure: (any Error)?
    var quarters: [LayerPiece?] = looks.map { look in
      switch look {
      case .image(let image): return .whole(image)
      case .nothing: return nil
      case .unavailable(let error):
        failure = error
        return nil
      }
    }
    // Only the upstream knows whether any of them exists.
    guard failure != nil || quarters.contains(where: { $0 != nil }) else { return nil }
    if policy == .overzoom {
      for (index, child) in children.enumerated() where quarters[index] == nil {
        quarters[index] = try enlargedPiece(child, despite: failure)
      }
    }
    guard quarters.contains(where: { $0 != nil }) else { return nil }
    return .quarters(quarters, size: tileSize(zoom: tile.zoom + 1))
  }

  /// How many times an ancestor may be wider than the tile. At the limit a tile of 256 pixels shows 1/16 of a pixel.
  private static let enlargementMax = 1 << 12

  private func ancestorPart(_ tile: TileID, despite failure: (any Error)?) throws -> AncestorPart? {
    var failure = failure
    var ancestor = tile
    var column = Enlarge.Cell.whole
    var row = Enlarge.Cell.whole
    while let parent = info.matrixSet.parent(of: ancestor), parent.zoom >= info.zooms.lowerBound {
      let ratio = info.matrixSet.ratio(below: parent.zoom)
      column = Enlarge.Cell(
        index: column.index + (ancestor.column - parent.column * ratio) * column.count, count: column.count * ratio)
      row = Enlarge.Cell(
        index: row.index + (ancestor.row - parent.row * ratio) * row.count, count: row.count * ratio)
      guard column.count <= Self.enlargementMax else { break }
      var found: StoredImage?
      if failure == nil {
        switch try look(parent) {
        case .image(let image): found = image
        case .nothing: break
        case .unavailable(let error): failure = error
        }
      }
      if failure != nil { found = try image(parent, asking: false) }
      if let found { return AncestorPart(image: found, column: column, row: row, isStandIn: failure != nil) }
      ancestor = parent
    }
    if let failure { throw failure }
    return nil
  }
}

/// The result of reading a stored tile.
private enum Look {
  case image(StoredImage)
  /// There is none.
  case nothing
  /// The upstream would have to be asked, and is unreachable.
  case unavailable(any Error)
}
