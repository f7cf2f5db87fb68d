extension TileMatrixSet {
  /// True when the tile exists in this set.
  public func contains(_ tile: TileID) -> Bool {
    guard zooms.contains(tile.zoom) else { return false }
    let matrix = matrices[tile.zoom]
    return tile.column >= 0 && tile.row >= 0 && tile.column < matrix.matrixWidth && tile.row < matrix.matrixHeight
  }

  /// The tile's box in CRS units, whole even where it reaches beyond the set's ``boundingBox``.
  public func bounds(of tile: TileID) -> BoundingBox {
    matrices[tile.zoom].bounds(column: tile.column, row: tile.row)
  }

  /// The tile's box in degrees, without what lies beyond the set's ``boundingBox``.
  public func geographicBounds(of tile: TileID) -> BoundingBox {
    let box = bounds(of: tile)
    var degrees = geographicBounds(ofCRSBounds: box.intersection(boundingBox) ?? box)
    let matrix = matrices[tile.zoom]
    if projection == .webMercator, matrix.origin.x == -WebMercator.halfWorld, isGlobal {
      // By way of metres 90 degrees would come back as 89.99999999999999.
      let width = 360 * (matrix.tileSpanX / (2 * WebMercator.halfWorld))
      degrees.west = Double(tile.column) * width - 180
      degrees.east = min(Double(tile.column + 1) * width - 180, 180)
    }
    return degrees
  }

  /// The point in CRS units of a longitude and latitude in degrees.
  ///
  /// Longitudes beyond ±180 are brought back by whole turns where the set is global; 180 itself stays the eastern edge and -180 the western.
  /// Latitudes beyond ``latitudes`` give the edge.
  public func point(longitude: Double, latitude: Double) -> SIMD2<Double> {
    let longitude = isGlobal ? Self.wrapped(longitude) : longitude
    switch projection {
    case .webMercator: return WebMercator.project(longitude: longitude, latitude: latitude)
    case .geographic: return SIMD2(longitude, min(max(latitude, boundingBox.south), boundingBox.north))
    }
  }

  /// The longitude and latitude in degrees of a point in CRS units.
  public func coordinate(of point: SIMD2<Double>) -> (longitude: Double, latitude: Double) {
    switch projection {
    case .webMercator:
      let degrees = WebMercator.unproject(point)
      return (degrees.x, degrees.y)
    case .geographic: return (point.x, point.y)
    }
  }

  /// A place in tiles of a zoom from the top left corner: the whole part is column and row, the fraction the place within the tile.
  public func tileCoordinates(longitude: Double, latitude: Double, zoom: Int) -> SIMD2<Double> {
    matrices[zoom].tileCoordinates(of: point(longitude: longitude, latitude: latitude))
  }

  /// A place in pixels of a zoom from the top left corner of the matrix.
  public func pixelCoordinates(longitude: Double, latitude: Double, zoom: Int) -> SIMD2<Double> {
    matrices[zoom].pixelCoordinates(of: point(longitude: longitude, latitude: latitude))
  }

  /// The tile at a longitude and latitude in degrees.
  ///
  /// A place on an edge belongs to the tile east and south of it; the eastern and southern edge of the matrix belong to the last column and row.
  /// - Returns: nil when a coordinate is not finite, the zoom does not exist, or the place lies outside a set that is not global.
  public func tile(longitude: Double, latitude: Double, zoom: Int) -> TileID? {
    guard longitude.isFinite, latitude.isFinite, zooms.contains(zoom) else { return nil }
    let matrix = matrices[zoom]
    let place = tileCoordinates(longitude: longitude, latitude: latitude, zoom: zoom)
    let edge = SIMD2(Double(matrix.matrixWidth), Double(matrix.matrixHeight))
    guard place.x >= 0, place.y >= 0, place.x <= edge.x, place.y <= edge.y else { return nil }
    return TileID(
      unchecked: zoom, min(Int(place.x), matrix.matrixWidth - 1), min(Int(place.y), matrix.matrixHeight - 1))
  }

  /// A box of CRS units in degrees. Both projections keep axes parallel, so corners are enough.
  public func geographicBounds(ofCRSBounds box: BoundingBox) -> BoundingBox {
    switch projection {
    case .webMercator:
      BoundingBox(
        west: WebMercator.longitude(x: box.west), south: WebMercator.latitude(y: box.south),
        east: WebMercator.longitude(x: box.east), north: WebMercator.latitude(y: box.north))
    case .geographic: box
    }
  }

  /// The longitude in -180...180 that differs by whole turns. Only values outside are touched, so 180 is not turned into -180.
  package static func wrapped(_ longitude: Double) -> Double {
    if longitude >= -180, longitude <= 180 { return longitude }
    let turned = (longitude + 180).truncatingRemainder(dividingBy: 360)
    return (turned < 0 ? turned + 360 : turned) - 180
  }
}
