/// A pyramid of tile grids over one CRS (OGC 17-083r4, section 6.2). Level 0 is the coarsest.
///
/// All levels share their top left corner, and a tile of one level is cut into a whole number of tiles of the next, equal in both directions.
/// That number is often 2 but may be any: the levels of 32°, 8°, 2°, 30′, 7.5′ and 2.5′ step by 4, 4, 4, 4 and 3.
public struct TileMatrixSet: Hashable, Sendable {
  /// How CRS units relate to WGS 84 degrees. The raw value is the CRS as authority and code.
  public enum Projection: String, Hashable, Sendable {
    /// Spherical Mercator in metres.
    case webMercator = "EPSG:3857"
    /// Longitude and latitude in degrees, in this order.
    case geographic = "OGC:CRS84"
  }

  /// Name within its registry, such as `WebMercatorQuad`.
  public let identifier: String
  /// The URI that identifies the set everywhere.
  public let uri: String
  /// The CRS and its relation to degrees.
  public let projection: Projection
  /// The part of the plane that has a meaning, in CRS units; tiles may reach beyond it where their edge does not divide it.
  public let boundingBox: BoundingBox
  /// The levels, coarsest first.
  public let matrices: [TileMatrix]
  /// Into how many tiles, in each direction, a tile of a level is cut at the next; one fewer than ``matrices``.
  let ratios: [Int]

  /// - Throws: ``GridError`` with `.invalidMatrixSet` when the levels do not fit each other.
  public init(
    identifier: String, uri: String, projection: Projection, boundingBox: BoundingBox, matrices: [TileMatrix]
  ) throws {
    func check(_ condition: Bool, _ message: String) throws {
      guard condition else { throw GridError(.invalidMatrixSet, "tile matrix set \(identifier): \(message)") }
    }
    try check(!matrices.isEmpty, "it has no levels")
    try check(matrices.count <= TileID.zoomMax + 1, "it has more than \(TileID.zoomMax + 1) levels")
    var ratios: [Int] = []
    for (zoom, matrix) in matrices.enumerated() {
      try check(matrix.cellSize > 0 && matrix.cellSize.isFinite, "level \(zoom): the cell size is not above 0")
      try check(
        matrix.tileWidth > 0 && matrix.tileHeight > 0 && matrix.matrixWidth > 0 && matrix.matrixHeight > 0,
        "level \(zoom): a size is not above 0")
      // Coordinates stay exact as doubles, and pixels countable.
      try check(
        matrix.matrixWidth <= 1 << 31 && matrix.matrixHeight <= 1 << 31 && matrix.tileWidth <= 1 << 16
          && matrix.tileHeight <= 1 << 16, "level \(zoom): a size is too large")
      guard zoom > 0 else { continue }
      let above = matrices[zoom - 1]
      try check(matrix.origin == above.origin, "level \(zoom): its top left corner differs from that of level 0")
      let x = above.tileSpanX / matrix.tileSpanX
      let y = above.tileSpanY / matrix.tileSpanY
      let ratio = x.rounded()
      try check(
        ratio >= 2 && ratio < 1e6 && abs(x - ratio) < 1e-9 * ratio && abs(y - ratio) < 1e-9 * ratio,
        "level \(zoom): a tile of level \(zoom - 1) is not a whole number of its tiles")
      ratios.append(Int(ratio))
    }
    self.identifier = identifier
    self.uri = uri
    self.projection = projection
    self.boundingBox = boundingBox
    self.matrices = matrices
    self.ratios = ratios
  }

  /// The CRS as authority and code, such as `EPSG:3857`.
  public var crs: String { projection.rawValue }

  /// The zoom levels that exist.
  public var zooms: ClosedRange<Int> { 0...(matrices.count - 1) }

  /// The level of a zoom in ``zooms``.
  public subscript(zoom: Int) -> TileMatrix { matrices[zoom] }

  /// Into how many tiles, in each direction, a tile of `zoom` is cut at `zoom + 1`, which must exist.
  public func ratio(below zoom: Int) -> Int { ratios[zoom] }

  /// True when the set reaches all the way round the earth, so that its first column is the eastern neighbour of its last.
  public var isGlobal: Bool {
    switch projection {
    case .webMercator: boundingBox.width >= 2 * WebMercator.halfWorld
    case .geographic: boundingBox.width >= 360
    }
  }

  /// The latitudes in degrees that the set can show.
  public var latitudes: ClosedRange<Double> {
    let box = geographicBounds(ofCRSBounds: boundingBox)
    return box.south...box.north
  }

  /// The zoom whose pixels are nearest to a cell size, by ratio (for steps of 2: the rounded logarithm), within the set's zooms.
  public func nearestZoom(toCellSize cellSize: Double) -> Int {
    // Ratios are compared, not differences: a pixel of 3 is as far from 1 as from 9.
    var best = 0
    for zoom in zooms.dropFirst() where cellSize * cellSize < matrices[zoom].cellSize * matrices[zoom - 1].cellSize {
      best = zoom
    }
    return best
  }
}

extension TileMatrixSet: CustomStringConvertible {
  public var description: String { identifier }
}
