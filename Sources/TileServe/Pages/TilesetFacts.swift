package import TileIndex

extension TilesetInfo {
  /// True for tiles that are pictures.
  package var isRaster: Bool { format != .pbf }

  /// True where the tiles are pictures that lie on the grid which WMTS would name; vector tiles and flat images have no words there.
  var isWMTSLayer: Bool { isRaster && flatImage == nil }

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

  /// How large it is on the ground; for a flat image, its pixels.
  var sizeText: String {
    flatImage.map { "\($0.width) × \($0.height) pixels" } ?? GroundSize.text(shownBounds)
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

  /// One tile as a picture of the tileset: of the coarsest zoom that has a tile mostly full of it, and there the fullest near the middle.
  var overviewTile: TileID {
    let box = matrixSet.crsBounds(ofGeographicBounds: shownBounds)
    let middle = shownBounds.centre
    func filling(_ tile: TileID) -> Double {
      let edge = matrixSet.bounds(of: tile)
      return edge.intersection(box).map { $0.width * $0.height / (edge.width * edge.height) } ?? 0
    }
    var best =
      matrixSet.tile(longitude: middle.x, latitude: middle.y, zoom: zooms.lowerBound)
      ?? TileID(unchecked: zooms.lowerBound, 0, 0)
    for zoom in zooms {
      guard let tile = matrixSet.tile(longitude: middle.x, latitude: middle.y, zoom: zoom) else { break }
      for candidate in [tile] + matrixSet.neighbours(of: tile) where filling(candidate) > filling(best) + 1e-9 {
        best = candidate
      }
      if filling(best) > 0.6 { break }
    }
    return best
  }
}

/// How large a region is on the ground, in words.
enum GroundSize {
  /// `1,200 × 800 km`, or metres below 10 km; the width is that of the middle latitude.
  static func text(_ box: BoundingBox) -> String {
    let kilometresPerDegree = 2 * WebMercator.halfWorld / 360_000
    let width = box.width * kilometresPerDegree / WebMercator.scale(latitude: box.centre.y)
    let height = box.height * kilometresPerDegree
    return min(width, height) < 10
      ? "\(grouped(width * 1000)) × \(grouped(height * 1000)) m" : "\(grouped(width)) × \(grouped(height)) km"
  }

  /// Two significant digits, with commas between thousands.
  static func grouped(_ value: Double) -> String {
    guard value.isFinite, value >= 1 else { return "1" }
    var unit = 1.0
    while value / unit >= 100 { unit *= 10 }
    let digits = String(Int((value / unit).rounded() * unit))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }
}
