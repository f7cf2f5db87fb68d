/// A grid as `gpkg_tile_matrix_set` and `gpkg_tile_matrix` describe it (OGC 12-128r18, sections 2.2.6 and 2.2.7): one
/// box that the matrices of all levels fill exactly, and rows from the north.
struct GeoPackageGrid {
  struct TileSize: Hashable {
    /// Pixels.
    let width: Int
    /// Pixels.
    let height: Int
  }

  struct Level {
    let zoom: Int
    let matrixWidth: Int
    let matrixHeight: Int
    let tileSize: TileSize
    /// CRS units.
    let pixelX: Double
    /// CRS units.
    let pixelY: Double
  }

  /// CRS units.
  let box: BoundingBox
  /// By rising zoom.
  let levels: [Level]

  /// True when every level has half the pixel size of the one above, as GeoPackage expects without an extension.
  var doubles: Bool {
    zip(levels, levels.dropFirst()).allSatisfy { a, b in
      let factor = Double(1 << (b.zoom - a.zoom))
      return abs(a.pixelX / b.pixelX - factor) < 1e-6 * factor && abs(a.pixelY / b.pixelY - factor) < 1e-6 * factor
    }
  }
}

extension GeoPackageGrid {
  /// The levels of a set from the first zoom with tiles to the last.
  ///
  /// Where a set's levels end on different edges (360° are 11¼ tiles of 32° and 45 of 8°), all reach as far as those of
  /// level 0: what is added has no tiles.
  ///
  /// - Parameter sizes: pixels of the tiles by zoom; the set's own unless given.
  init(_ set: TileMatrixSet, zooms: ClosedRange<Int>, sizes: [Int: TileSize]) {
    let top = set[0]
    box = BoundingBox(
      west: top.origin.x, south: top.origin.y - Double(top.matrixHeight) * top.tileSpanY,
      east: top.origin.x + Double(top.matrixWidth) * top.tileSpanX, north: top.origin.y)
    var steps = 1
    var levels: [Level] = []
    for zoom in 0...zooms.upperBound {
      if zoom > 0 { steps *= set.ratio(below: zoom - 1) }
      guard zooms.contains(zoom) else { continue }
      let (width, height) = (top.matrixWidth * steps, top.matrixHeight * steps)
      let size = sizes[zoom] ?? TileSize(width: set[zoom].tileWidth, height: set[zoom].tileHeight)
      levels.append(
        Level(
          zoom: zoom, matrixWidth: width, matrixHeight: height, tileSize: size,
          pixelX: box.width / Double(width) / Double(size.width),
          pixelY: box.height / Double(height) / Double(size.height)))
    }
    self.levels = levels
  }

  /// A box widened to whole pixels of the finest level: GDAL's rasters begin at its corner.
  func extent(of bounds: BoundingBox) -> BoundingBox {
    guard let finest = levels.last, let bounds = bounds.intersection(box) else { return box }
    func pixels(_ length: Double, _ size: Double, _ rule: FloatingPointRoundingRule) -> Double {
      let count = length / size
      let nearest = count.rounded()
      return (abs(count - nearest) < 1e-6 ? nearest : count.rounded(rule)) * size
    }
    return BoundingBox(
      west: box.west + pixels(bounds.west - box.west, finest.pixelX, .down),
      south: box.north - pixels(box.north - bounds.south, finest.pixelY, .up),
      east: box.west + pixels(bounds.east - box.west, finest.pixelX, .up),
      north: box.north - pixels(box.north - bounds.north, finest.pixelY, .down)
    ).intersection(box) ?? box
  }
}

extension GeoPackageGrid {
  /// True when the levels are those of a set: their tiles have the same corner and the same spans.
  func agrees(with set: TileMatrixSet) -> Bool {
    func isNear(_ a: Double, _ b: Double, _ scale: Double) -> Bool { abs(a - b) <= 1e-6 * scale }
    return levels.allSatisfy { level in
      guard set.zooms.contains(level.zoom) else { return false }
      let matrix = set[level.zoom]
      let (spanX, spanY) = (level.pixelX * Double(level.tileSize.width), level.pixelY * Double(level.tileSize.height))
      return isNear(spanX, matrix.tileSpanX, spanX) && isNear(spanY, matrix.tileSpanY, spanY)
        && isNear(box.west, matrix.origin.x, spanX) && isNear(box.north, matrix.origin.y, spanY)
    }
  }

  /// The set that the levels are of: a well-known one if they fit it, otherwise one of their own.
  ///
  /// Levels that are missing, as tools leave them out above the coarsest with tiles, step by 2.
  ///
  /// - Parameter name: for the identifier of a set of its own.
  /// - Throws: ``GridError`` for levels that make no ``TileMatrixSet``.
  func matrixSet(_ projection: TileMatrixSet.Projection, name: String) throws -> TileMatrixSet {
    func refused(_ words: String) -> GridError { GridError(.invalidMatrixSet, words) }
    let fitting = TileMatrixSet.builtIn.first { $0.projection == projection && agrees(with: $0) }
    if let fitting, !levels.isEmpty { return fitting }
    guard let last = levels.last else { throw refused("its table of tiles has no levels in gpkg_tile_matrix") }
    guard (0...TileID.zoomMax).contains(levels[0].zoom), last.zoom <= TileID.zoomMax else {
      throw refused("its zooms go from \(levels[0].zoom) to \(last.zoom)")
    }
    let metresPerUnit = projection == .geographic ? TileMatrixSet.metresPerDegree : 1
    var matrices: [TileMatrix] = []
    func appendAbove(_ finer: TileMatrix) {
      matrices.append(
        TileMatrix(
          identifier: String(last.zoom - matrices.count), cellSize: 2 * finer.cellSize, metresPerUnit: metresPerUnit,
          origin: finer.origin, tileWidth: finer.tileWidth, tileHeight: finer.tileHeight,
          matrixWidth: (finer.matrixWidth + 1) / 2, matrixHeight: (finer.matrixHeight + 1) / 2))
    }
    for level in levels.reversed() {
      guard level.tileSize.width > 0, level.tileSize.height > 0, level.matrixWidth > 0, level.matrixHeight > 0,
        level.pixelX > 0, level.pixelX.isFinite, abs(level.pixelX - level.pixelY) <= 1e-6 * level.pixelX
      else {
        throw refused("the pixels of its zoom \(level.zoom) are \(level.pixelX) by \(level.pixelY), not square")
      }
      while let finer = matrices.last, matrices.count < last.zoom - level.zoom { appendAbove(finer) }
      matrices.append(
        TileMatrix(
          identifier: String(level.zoom), cellSize: level.pixelX,
          metresPerUnit: metresPerUnit, origin: SIMD2(box.west, box.north), tileWidth: level.tileSize.width,
          tileHeight: level.tileSize.height,
          matrixWidth: level.matrixWidth, matrixHeight: level.matrixHeight))
    }
    while matrices.count <= last.zoom, let finer = matrices.last { appendAbove(finer) }
    let limits = projection == .geographic ? BoundingBox.world : TileMatrixSet.webMercatorQuad.boundingBox
    guard let valid = box.intersection(limits), valid.width > 0, valid.height > 0 else {
      throw refused("its tiles lie nowhere on Earth")
    }
    let identifier = TileMatrixSet.named(name) == nil ? name : "\(name)-tiles"
    return try TileMatrixSet(
      identifier: identifier, uri: TileMatrixSet.ownURI(identifier), projection: projection, boundingBox: valid,
      matrices: matrices.reversed())
  }
}
