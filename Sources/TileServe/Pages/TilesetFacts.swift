package import TileIndex

extension TilesetInfo {
  /// True for raster tiles.
  package var isRaster: Bool { format != .pbf }

  /// True if the tileset can be a WMTS layer: raster tiles on a map's grid. WMTS cannot describe vector tiles and flat
  /// images.
  var isWMTSLayer: Bool { isRaster && flatImage == nil }

  /// Valid bounds whatever the bundle says: within the grid's longitudes and latitudes, west below east, south below
  /// north. A region across the antimeridian becomes the whole width; invalid bounds become the whole grid.
  package var shownBounds: BoundingBox {
    let grid = matrixSet.geographicBounds(ofCRSBounds: matrixSet.boundingBox)
    guard bounds.west.isFinite, bounds.east.isFinite, bounds.south.isFinite, bounds.north.isFinite else { return grid }
    var box = bounds
    // A small excess is rounding, a larger one a region across the antimeridian.
    let wraps = box.west > box.east || box.west < grid.west - 1e-6 || box.east > grid.east + 1e-6
    if wraps, matrixSet.isGlobal { (box.west, box.east) = (grid.west, grid.east) }
    guard let inside = box.intersection(grid), inside.width > 0, inside.height > 0 else { return grid }
    return inside
  }

  /// The size on the ground; for a flat image, its pixels.
  var sizeText: String {
    flatImage.map { "\($0.width) × \($0.height) pixels" } ?? GroundSize.text(shownBounds)
  }

  /// The tiles of a zoom that intersect the bounds.
  func tileRange(zoom: Int) -> TileRange {
    matrixSet.range(coveringCRSBounds: matrixSet.crsBounds(ofGeographicBounds: shownBounds), zoom: zoom)
      ?? matrixSet.wholeRange(zoom: zoom)
  }

  /// The center, limited to bounds and zooms.
  package var shownCenter: BundleMetadata.Center {
    let box = shownBounds
    var center = center
    if !box.contains(SIMD2(center.longitude, center.latitude)) {
      (center.longitude, center.latitude) = (box.centre.x, box.centre.y)
    }
    center.zoom = min(max(center.zoom, zooms.lowerBound), zooms.upperBound)
    return center
  }

  /// Stored pixels for each pixel of the grid: 2 for tiles for high-density screens, otherwise 1.
  var pixelDensity: Double {
    let width = matrixSet[zooms.upperBound].tileWidth
    // If tile sizes differ between levels one number cannot describe them.
    guard tilePixels > 0, matrixSet.matrices.allSatisfy({ $0.tileWidth == width }) else { return 1 }
    return Double(tilePixels) / Double(width)
  }

  /// Pixels of the screen along a tile's edge: half of the stored ones where the metadata say that these are for dense
  /// screens.
  var screenPixels: Int {
    let scale = metadata.tileScale
    return tilePixels % scale == 0 && tilePixels > scale ? tilePixels / scale : tilePixels
  }

  /// The grid's registered name; its levels are those of the registry.
  var hasWellKnownGrid: Bool { TileMatrixSet.wellKnown.contains(matrixSet) }

  /// A tile as a preview of the tileset: of the coarsest zoom with a tile that the bounds mostly fill, and there the
  /// fullest near the middle.
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

/// The size of a region on the ground, as text.
enum GroundSize {
  /// `1,200 × 800 km`, or metres below 10 km; the width is that at the middle latitude.
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
