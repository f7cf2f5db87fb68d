extension TileMatrixSet {
  /// The tile's box in CRS units, not clipped to the set's ``boundingBox``.
  public func bounds(of tile: TileID) -> BoundingBox {
    matrices[tile.zoom].bounds(column: tile.column, row: tile.row)
  }

  /// The tile's box in degrees, clipped to the set's ``boundingBox``. In a fitted CRS it is the box around a curved
  /// shape.
  public func geographicBounds(of tile: TileID) -> BoundingBox {
    let box = bounds(of: tile)
    var degrees = geographicBounds(ofCRSBounds: box.intersection(boundingBox) ?? box)
    let matrix = matrices[tile.zoom]
    if projection == .webMercator, matrix.origin.x == -WebMercator.halfWorld, isGlobal {
      // Via metres, 90 degrees would become 89.99999999999999.
      let width = 360 * (matrix.tileSpanX / (2 * WebMercator.halfWorld))
      degrees.west = Double(tile.column) * width - 180
      degrees.east = min(Double(tile.column + 1) * width - 180, 180)
    }
    return degrees
  }

  /// The box in degrees around a range of tiles, clipped to the set's ``boundingBox``.
  public func geographicBounds(of range: TileRange) -> BoundingBox {
    let first = TileID(unchecked: range.zoom, range.columns.lowerBound, range.rows.lowerBound)
    let last = TileID(unchecked: range.zoom, range.columns.upperBound, range.rows.upperBound)
    if case .fitted = projection {
      let box = bounds(of: first).union(bounds(of: last))
      return geographicBounds(ofCRSBounds: box.intersection(boundingBox) ?? box)
    }
    return geographicBounds(of: first).union(geographicBounds(of: last))
  }

  /// The point in CRS units of a longitude and latitude in degrees.
  ///
  /// In a global set longitudes beyond ±180 are wrapped; 180 itself stays the eastern edge and -180 the western.
  /// Latitudes beyond `latitudes` are clamped. In a fitted CRS places outside the ``boundingBox`` have rough points
  /// outside it.
  public func point(longitude: Double, latitude: Double) -> SIMD2<Double> {
    let longitude = isGlobal ? Self.wrapped(longitude) : longitude
    switch projection {
    case .webMercator: return WebMercator.project(longitude: longitude, latitude: latitude)
    case .geographic: return SIMD2(longitude, min(max(latitude, boundingBox.south), boundingBox.north))
    case .fitted(let crs): return crs.point(longitude: longitude, latitude: latitude)
    }
  }

  /// The longitude and latitude in degrees of a point in CRS units.
  public func coordinate(of point: SIMD2<Double>) -> (longitude: Double, latitude: Double) {
    switch projection {
    case .webMercator:
      let degrees = WebMercator.unproject(point)
      return (degrees.x, degrees.y)
    case .geographic: return (point.x, point.y)
    case .fitted(let crs): return crs.coordinate(of: point)
    }
  }

  /// Coordinates in tiles of a zoom from the top left corner: the integer part is column and row, the fraction the
  /// position within the tile.
  public func tileCoordinates(longitude: Double, latitude: Double, zoom: Int) -> SIMD2<Double> {
    matrices[zoom].tileCoordinates(of: point(longitude: longitude, latitude: latitude))
  }

  /// Coordinates in pixels of a zoom from the top left corner of the matrix.
  public func pixelCoordinates(longitude: Double, latitude: Double, zoom: Int) -> SIMD2<Double> {
    matrices[zoom].pixelCoordinates(of: point(longitude: longitude, latitude: latitude))
  }

  /// The tile at a longitude and latitude in degrees.
  ///
  /// A position on an edge belongs to the tile east and south of it; the eastern and southern edge of the matrix belong
  /// to the last column and row.
  /// - Returns: nil when a coordinate is not finite, the zoom does not exist, or the position lies outside a set that
  ///   is not global.
  public func tile(longitude: Double, latitude: Double, zoom: Int) -> TileID? {
    guard longitude.isFinite, latitude.isFinite, zooms.contains(zoom) else { return nil }
    let matrix = matrices[zoom]
    let point = point(longitude: longitude, latitude: latitude)
    if case .fitted(let crs) = projection, !crs.contains(point) { return nil }
    let place = matrix.tileCoordinates(of: point)
    let edge = SIMD2(Double(matrix.matrixWidth), Double(matrix.matrixHeight))
    guard place.x >= 0, place.y >= 0, place.x <= edge.x, place.y <= edge.y else { return nil }
    return TileID(
      unchecked: zoom, min(Int(place.x), matrix.matrixWidth - 1), min(Int(place.y), matrix.matrixHeight - 1))
  }

  /// A box of CRS units in degrees. In a fitted CRS it is the box around a curved shape, and has all longitudes if that
  /// crosses the antimeridian or has a pole inside; what lies beyond the set's ``boundingBox`` does not count.
  package func geographicBounds(ofCRSBounds box: BoundingBox) -> BoundingBox {
    switch projection {
    case .webMercator:
      BoundingBox(
        west: WebMercator.longitude(x: box.west), south: WebMercator.latitude(y: box.south),
        east: WebMercator.longitude(x: box.east), north: WebMercator.latitude(y: box.north))
    case .geographic: box
    case .fitted(let crs): crs.geographicBounds(of: box).withinAntimeridian
    }
  }

  /// The same, but of a box across the antimeridian the east is beyond 180.
  package func openGeographicBounds(ofCRSBounds box: BoundingBox) -> BoundingBox {
    if case .fitted(let crs) = projection { return crs.geographicBounds(of: box) }
    return geographicBounds(ofCRSBounds: box)
  }

  /// The longitude in -180...180 that differs by whole turns. 180 is not turned into -180.
  package static func wrapped(_ longitude: Double) -> Double {
    if longitude >= -180, longitude <= 180 { return longitude }
    let turned = (longitude + 180).truncatingRemainder(dividingBy: 360)
    return (turned < 0 ? turned + 360 : turned) - 180
  }
}

extension TileMatrixSet {
  /// The tiles of a zoom that a box in CRS units meets; nil when it lies outside the set.
  ///
  /// Tiles that the box overlaps by less than a millionth of a pixel do not count, so a box made of tile edges gives
  /// exactly its tiles. A box without width or height gives the tile that contains its west or north edge.
  package func range(coveringCRSBounds box: BoundingBox, zoom: Int) -> TileRange? {
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
  /// - Parameter box: longitudes may lie beyond ±180; a west greater than the east means that the box crosses the
  ///   antimeridian.
  /// - Returns: no range when the box lies outside the set; two ranges, the western end of the world last, when it
  ///   crosses the antimeridian of a global set (one when together they span the whole width). In a fitted CRS the box
  ///   is a curved shape; the one range is that around it.
  package func ranges(covering box: BoundingBox, zoom: Int) -> [TileRange] {
    guard box.west.isFinite, box.east.isFinite, box.south <= box.north else { return [] }
    if case .fitted(let crs) = projection {
      return crs.bounds(ofGeographic: box).flatMap { range(coveringCRSBounds: $0, zoom: zoom) }.map { [$0] } ?? []
    }
    // Clamped to the projection's latitudes, such a box would match the edge row.
    let latitudes = self.latitudes
    guard box.north >= latitudes.lowerBound, box.south <= latitudes.upperBound else { return [] }
    let parts = isGlobal ? Self.splitAtAntimeridian(box) : [box]
    let found = parts.compactMap { part in
      range(coveringCRSBounds: crsBounds(ofGeographicBounds: part), zoom: zoom)
    }
    guard found.count == 2, found[1].columns.upperBound + 1 >= found[0].columns.lowerBound else { return found }
    return [found[0].union(found[1])]
  }

  /// A box of degrees in CRS units. Longitudes are not wrapped; latitudes beyond the projection's are clamped.
  ///
  /// In a fitted CRS it is the box around a curved shape, within the set's ``boundingBox``; longitudes are those of any
  /// turn, and a west greater than the east crosses the antimeridian. A box of degrees that lies elsewhere becomes one
  /// without width and height, outside the set's.
  package func crsBounds(ofGeographicBounds box: BoundingBox) -> BoundingBox {
    switch projection {
    case .webMercator:
      BoundingBox(
        west: WebMercator.x(longitude: box.west), south: WebMercator.y(latitude: box.south),
        east: WebMercator.x(longitude: box.east), north: WebMercator.y(latitude: box.north))
    case .geographic: box
    case .fitted(let crs): crs.bounds(ofGeographic: box) ?? crs.nowhere
    }
  }

  /// One or two boxes within ±180 degrees that together are the given one, the part west of the antimeridian first.
  package static func splitAtAntimeridian(_ box: BoundingBox) -> [BoundingBox] {
    var width = box.east - box.west
    if width < 0 { width += 360 }
    guard width < 360 else { return [BoundingBox(west: -180, south: box.south, east: 180, north: box.north)] }
    if box.west >= -180, box.east <= 180, box.west <= box.east { return [box] }
    var west = wrapped(box.west)
    // A box that starts at the eastern edge and continues lies entirely at the western edge.
    if west == 180, width > 0 { west = -180 }
    let east = wrapped(box.east)
    if east > west || (east == west && width == 0) {
      return [BoundingBox(west: west, south: box.south, east: east, north: box.north)]
    }
    let eastern = BoundingBox(west: west, south: box.south, east: 180, north: box.north)
    if east <= -180 { return [eastern] }
    return [eastern, BoundingBox(west: -180, south: box.south, east: east, north: box.north)]
  }

  /// The tiles between two coordinates along one axis, or nil when they lie outside.
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
