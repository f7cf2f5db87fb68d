package import TileIndex

extension TilesetInfo {
  /// True for tiles that are pictures.
  package var isRaster: Bool { format != .pbf }

  /// Bounds that make sense whatever the bundle says: within the grid's longitudes and latitudes, west below east, south below north.
  /// A region across the antimeridian becomes the whole width; without any sense the whole grid is taken.
  package var shownBounds: BoundingBox {
    let grid = matrixSet.geographicBounds(ofCRSBounds: matrixSet.boundingBox)
    guard bounds.west.isFinite, bounds.east.isFinite, bounds.south.isFinite, bounds.north.isFinite else { return grid }
    var box = bounds
    // A hair beyond the edge is rounding, more is a region that goes on at the other side of the world.
    let wraps = box.west > box.east || box.west < grid.west - 1e-6 || box.east > grid.east + 1e-6
    if wraps, matrixSet.isGlobal { (box.west, box.east) = (grid.west, grid.east) }
    guard let inside = box.intersection(grid), inside.width > 0, inside.height > 0 else { return grid }
    return inside
  }

  /// The tiles of a zoom that the bounds meet.
  func tileRange(zoom: Int) -> TileRange {
    matrixSet.range(coveringCRSBounds: matrixSet.crsBounds(ofGeographicBounds: shownBounds), zoom: zoom)
      ?? matrixSet.wholeRange(zoom: zoom)
  }

  /// The center within bounds and zooms.
  package var shownCenter: BundleMetadata.Center {
    let box = shownBounds
    var center = center
    if !box.contains(SIMD2(center.longitude, center.latitude)) {
      (center.longitude, center.latitude) = (box.centre.x, box.centre.y)
    }
    center.zoom = min(max(center.zoom, zooms.lowerBound), zooms.upperBound)
    return center
  }

  /// Stored pixels for a pixel of the grid: 2 for tiles made for high-density screens, otherwise 1.
  var pixelDensity: Double {
    let width = matrixSet[zooms.upperBound].tileWidth
    // Where tile sizes differ from level to level one number cannot say more.
    guard tilePixels > 0, matrixSet.matrices.allSatisfy({ $0.tileWidth == width }) else { return 1 }
    return Double(tilePixels) / Double(width)
  }

  /// The grid under the name that others know; its levels are those of the registry.
  var hasWellKnownGrid: Bool { TileMatrixSet.wellKnown.contains(matrixSet) }

  /// One tile that shows about all of the tileset: the deepest zoom that needs no more than 2 x 2 tiles, and there the one that covers most.
  var overviewTile: TileID {
    var zoom = zooms.lowerBound
    for deeper in zooms where tileRange(zoom: deeper).columns.count <= 2 && tileRange(zoom: deeper).rows.count <= 2 {
      zoom = deeper
    }
    let range = tileRange(zoom: zoom)
    guard range.columns.count <= 2, range.rows.count <= 2 else {
      let center = shownCenter
      return matrixSet.tile(longitude: center.longitude, latitude: center.latitude, zoom: zoom)
        ?? TileID(unchecked: zoom, range.columns.lowerBound, range.rows.lowerBound)
    }
    let box = matrixSet.crsBounds(ofGeographicBounds: shownBounds)
    func shown(_ tile: TileID) -> Double {
      matrixSet.bounds(of: tile).intersection(box).map { $0.width * $0.height } ?? 0
    }
    return range.max { shown($0) < shown($1) } ?? TileID(unchecked: zoom, 0, 0)
  }
}
