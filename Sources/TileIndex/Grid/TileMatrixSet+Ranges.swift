extension TileMatrixSet {
  /// All tiles of a zoom.
  public func wholeRange(zoom: Int) -> TileRange {
    let matrix = matrices[zoom]
    return TileRange(zoom: zoom, columns: 0...(matrix.matrixWidth - 1), rows: 0...(matrix.matrixHeight - 1))
  }

  /// The tiles of a zoom that a box in CRS units meets; nil when it lies outside the set.
  ///
  /// Tiles that the box touches by less than a millionth of a pixel do not count, so a box that is made of tile edges gives just its tiles.
  /// A box without width or height gives the tile that its west or north edge lies in.
  public func range(coveringCRSBounds box: BoundingBox, zoom: Int) -> TileRange? {
    let matrix = matrices[zoom]
    let first = matrix.tileCoordinates(of: SIMD2(box.west, box.north))
    let last = matrix.tileCoordinates(of: SIMD2(box.east, box.south))
    let tolerance = matrix.edgeTolerance
    guard
      let columns = Self.tiles(from: first.x, to: last.x, count: matrix.matrixWidth, tolerance: tolerance),
      let rows = Self.tiles(from: first.y, to: last.y, count: matrix.matrixHeight, tolerance: tolerance)
    else { return nil }
    return TileRange(zoom: zoom, columns: columns, rows: rows)
  }

  /// The tiles of a zoom that a box in degrees meets.
  ///
  /// - Parameter box: longitudes may lie beyond ±180; a west greater than the east means that the box crosses the antimeridian.
  /// - Returns: nothing when the box lies outside the set; two ranges, the western end of the world last, when it crosses the antimeridian
  ///   of a global set (one when together they are the whole width).
  public func ranges(covering box: BoundingBox, zoom: Int) -> [TileRange] {
    guard box.west.isFinite, box.east.isFinite, box.south <= box.north else { return [] }
    // Beyond the projection's latitudes the edge would answer for every place.
    let latitudes = self.latitudes
    guard box.north >= latitudes.lowerBound, box.south <= latitudes.upperBound else { return [] }
    let parts = isGlobal ? Self.splitAtAntimeridian(box) : [box]
    let found = parts.compactMap { part in
      range(coveringCRSBounds: crsBounds(ofGeographicBounds: part), zoom: zoom)
    }
    guard found.count == 2, found[1].columns.upperBound + 1 >= found[0].columns.lowerBound else { return found }
    return [found[0].union(found[1])]
  }

  /// A box of degrees in CRS units. Longitudes are taken as they are; latitudes beyond what the projection can show give its edge.
  public func crsBounds(ofGeographicBounds box: BoundingBox) -> BoundingBox {
    switch projection {
    case .webMercator:
      BoundingBox(
        west: WebMercator.x(longitude: box.west), south: WebMercator.y(latitude: box.south),
        east: WebMercator.x(longitude: box.east), north: WebMercator.y(latitude: box.north))
    case .geographic: box
    }
  }

  /// One or two boxes within ±180 degrees that together are the given one, the part at the eastern end of the world first.
  package static func splitAtAntimeridian(_ box: BoundingBox) -> [BoundingBox] {
    var width = box.east - box.west
    if width < 0 { width += 360 }
    guard width < 360 else { return [BoundingBox(west: -180, south: box.south, east: 180, north: box.north)] }
    if box.west >= -180, box.east <= 180, box.west <= box.east { return [box] }
    var west = wrapped(box.west)
    // A box that starts at the eastern edge and goes on lies wholly at the western one.
    if west == 180, width > 0 { west = -180 }
    let east = wrapped(box.east)
    if east > west || (east == west && width == 0) {
      return [BoundingBox(west: west, south: box.south, east: east, north: box.north)]
    }
    let eastern = BoundingBox(west: west, south: box.south, east: 180, north: box.north)
    if east <= -180 { return [eastern] }
    return [eastern, BoundingBox(west: -180, south: box.south, east: east, north: box.north)]
  }

  /// The whole tiles between two places along one axis, or nil when they lie outside.
  private static func tiles(from start: Double, to end: Double, count: Int, tolerance: Double) -> ClosedRange<Int>? {
    guard start <= end, end >= 0, start <= Double(count) else { return nil }
    let first = (start + tolerance).rounded(.down)
    let last = max((end - tolerance).rounded(.up) - 1, first)
    if start < end {
      guard last >= 0, first < Double(count) else { return nil }
    }
    return Int(min(max(first, 0), Double(count - 1)))...Int(min(max(last, 0), Double(count - 1)))
  }
}
