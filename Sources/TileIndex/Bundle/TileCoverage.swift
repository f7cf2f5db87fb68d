/// Which tiles a bundle has: for each zoom their number and the rectangle around them.
struct TileCoverage {
  struct Level {
    var count = 0
    var range: TileRange
  }

  /// By zoom; only zooms that have tiles.
  private(set) var levels: [Int: Level] = [:]
  private(set) var count = 0

  mutating func insert(_ tile: TileID) {
    let single = TileRange(zoom: tile.zoom, columns: tile.column...tile.column, rows: tile.row...tile.row)
    count += 1
    levels[tile.zoom, default: Level(range: single)].insert(tile, single)
  }

  mutating func insert(zoom: Int, count: Int, range: TileRange) {
    levels[zoom] = Level(count: count, range: range)
    self.count += count
  }

  /// From the coarsest zoom with tiles to the finest; nil without tiles.
  var zooms: ClosedRange<Int>? {
    guard let first = levels.keys.min(), let last = levels.keys.max() else { return nil }
    return first...last
  }

  /// The box in degrees that the tiles of every zoom reach round: the intersection of the zooms' boxes.
  ///
  /// Where the zooms have no common place at all it is the box of the finest. Nil without tiles.
  func bounds(in matrixSet: TileMatrixSet) -> BoundingBox? {
    guard let zooms else { return nil }
    func box(_ level: Level) -> BoundingBox {
      let corners = level.corners(in: matrixSet)
      return corners.northWest.union(corners.southEast)
    }
    guard let finest = levels[zooms.upperBound].map(box) else { return nil }
    var common: BoundingBox? = finest
    for level in levels.values { common = common?.intersection(box(level)) }
    guard let common, common.width > 0, common.height > 0 else { return finest }
    return common
  }

  /// A box in degrees, made just so large that it touches the outermost tiles of every zoom.
  func reached(by box: BoundingBox, in matrixSet: TileMatrixSet) -> BoundingBox {
    var box = box
    for level in levels.values {
      let corners = level.corners(in: matrixSet)
      box.west = min(box.west, corners.northWest.east)
      box.north = max(box.north, corners.northWest.south)
      box.east = max(box.east, corners.southEast.west)
      box.south = min(box.south, corners.southEast.north)
    }
    return box
  }
}

extension TileCoverage.Level {
  /// The boxes in degrees of the outermost tiles.
  fileprivate func corners(in matrixSet: TileMatrixSet) -> (northWest: BoundingBox, southEast: BoundingBox) {
    let first = TileID(unchecked: range.zoom, range.columns.lowerBound, range.rows.lowerBound)
    let last = TileID(unchecked: range.zoom, range.columns.upperBound, range.rows.upperBound)
    return (matrixSet.geographicBounds(of: first), matrixSet.geographicBounds(of: last))
  }
}

extension TileCoverage.Level {
  fileprivate mutating func insert(_ tile: TileID, _ single: TileRange) {
    count += 1
    if !range.contains(tile) { range = range.union(single) }
  }
}
