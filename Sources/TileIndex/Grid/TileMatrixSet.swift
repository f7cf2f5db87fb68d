/// A pyramid of tile grids over one CRS (OGC 17-083r4, section 6.2). Level 0 is the coarsest.
///
/// All levels share their top left corner, and a tile of one level is split into a whole number of tiles of the next,
/// equal in both directions. That number is often 2, but it may differ from level to level: 32°, 8°, 2°, 30′, 7.5′ and
/// 2.5′ step by 4, 4, 4, 4 and 3.
public struct TileMatrixSet: Hashable, Sendable {
  /// The CRS and how its units relate to WGS 84 degrees.
  package enum Projection: Hashable, Sendable {
    /// Spherical Mercator in metres, EPSG:3857.
    case webMercator
    /// Longitude and latitude in degrees, in this order, OGC:CRS84.
    case geographic
    /// Any other CRS. Meridians and parallels are curves in it.
    indirect case fitted(FittedCRS)
  }

  /// Name within its registry, such as `WebMercatorQuad`.
  public let identifier: String
  /// The URI that identifies the set.
  public let uri: String
  /// The CRS and its relation to degrees.
  package let projection: Projection
  /// The valid area in CRS units; tiles may extend beyond it where their edge does not divide it.
  public let boundingBox: BoundingBox
  /// The levels, coarsest first.
  public let matrices: [TileMatrix]
  /// The number of tiles, in each direction, that a tile of a level is split into; one fewer than ``matrices``.
  let ratios: [Int]

  /// A grid of one or more levels, the coarsest first.
  ///
  /// - Throws: ``GridError`` with `.invalidMatrixSet` when the levels do not fit each other.
  package init(
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
      // Coordinates stay exact as doubles, and pixel numbers fit an Int.
      try check(
        matrix.matrixWidth <= TileID.sideMax && matrix.matrixHeight <= TileID.sideMax && matrix.tileWidth <= 1 << 16
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
  public var crs: String {
    switch projection {
    case .webMercator: "EPSG:3857"
    case .geographic: "OGC:CRS84"
    case .fitted(let crs): crs.code
    }
  }

  /// Length of a CRS unit in metres; of a degree that on the equator.
  package var metresPerUnit: Double {
    switch projection {
    case .webMercator: 1
    case .geographic: Self.metresPerDegree
    case .fitted(let crs): crs.metresPerUnit
    }
  }

  /// The zoom levels that exist.
  public var zooms: ClosedRange<Int> { 0...(matrices.count - 1) }

  /// The level of a zoom, which must be in ``zooms``.
  public subscript(zoom: Int) -> TileMatrix { matrices[zoom] }

  /// The number of tiles, in each direction, that a tile of `zoom` is split into at `zoom + 1`, which must exist.
  package func ratio(below zoom: Int) -> Int { ratios[zoom] }

  /// True when the set spans all longitudes, so that its first column is the eastern neighbour of its last. False in
  /// any other CRS than Web Mercator and degrees, also around a pole.
  package var isGlobal: Bool {
    switch projection {
    case .webMercator: boundingBox.width >= 2 * WebMercator.halfWorld
    case .geographic: boundingBox.width >= 360
    case .fitted: false
    }
  }

  /// The latitudes in degrees that the set covers.
  package var latitudes: ClosedRange<Double> {
    let box = geographicBounds(ofCRSBounds: boundingBox)
    return box.south...box.north
  }

  /// The zoom with the nearest cell size, by ratio (for steps of 2: the rounded logarithm), within the set's zooms.
  package func nearestZoom(toCellSize cellSize: Double) -> Int {
    // Ratios are compared, not differences: 3 is as far from 1 as from 9.
    var best = 0
    for zoom in zooms.dropFirst() where cellSize * cellSize < matrices[zoom].cellSize * matrices[zoom - 1].cellSize {
      best = zoom
    }
    return best
  }
}

extension TileMatrixSet {
  /// The same tiles with `factor` times the pixels along each edge, and pixels that much smaller.
  ///
  /// - Throws: ``GridError`` with `.invalidMatrixSet` for tiles of more than 65,536 pixels.
  package func withPixels(times factor: Int) throws -> TileMatrixSet {
    if factor == 1 { return self }
    return try TileMatrixSet(
      identifier: identifier, uri: uri, projection: projection, boundingBox: boundingBox,
      matrices: matrices.map { matrix in
        TileMatrix(
          identifier: matrix.identifier, cellSize: matrix.cellSize / Double(factor), metresPerUnit: metresPerUnit,
          origin: matrix.origin, tileWidth: matrix.tileWidth * factor, tileHeight: matrix.tileHeight * factor,
          matrixWidth: matrix.matrixWidth, matrixHeight: matrix.matrixHeight)
      })
  }
}

extension TileMatrixSet: CustomStringConvertible {
  public var description: String { identifier }
}

extension TileMatrixSet {
  /// OGC's WebMercatorQuad (17-083r4, annex D.1), the usual grid of web maps, extended to zoom 30.
  public static let webMercatorQuad = quad(
    identifier: "WebMercatorQuad", projection: .webMercator,
    boundingBox: BoundingBox(
      west: -WebMercator.halfWorld, south: -WebMercator.halfWorld, east: WebMercator.halfWorld,
      north: WebMercator.halfWorld),
    metresPerUnit: 1)

  /// OGC's WorldCRS84Quad (17-083r4, annex D.3): degrees, two tiles at level 0, extended to zoom 30.
  public static let worldCRS84Quad = quad(
    identifier: "WorldCRS84Quad", projection: .geographic, boundingBox: .world, metresPerUnit: metresPerDegree)

  /// The levels of the map trade in degrees: tiles of 32°, 8°, 2°, 30′, 7.5′ and 2.5′, which step by 4, 4, 4, 4 and 3.
  ///
  /// Tiles have 288 pixels, the multiple of 4 and 3 next above 256. Columns count from 180° west, rows from the north
  /// pole. No authority has registered the set.
  public static let degrees: TileMatrixSet = {
    do {
      return try TileMatrixSet(
        identifier: "degrees", uri: ownURI("degrees"), tileEdges: [32, 8, 2, 0.5, 0.125, 2.5 / 60], tileSizes: [288])
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// The sets that OGC has registered.
  public static let wellKnown: [TileMatrixSet] = [.webMercatorQuad, .worldCRS84Quad]

  /// The sets that have a name here.
  package static let builtIn: [TileMatrixSet] = wellKnown + [.degrees]

  /// A built-in set by identifier or URI, case-insensitive; or nil.
  public static func named(_ name: String) -> TileMatrixSet? {
    let name = name.lowercased()
    return builtIn.first { $0.identifier.lowercased() == name || $0.uri.lowercased() == name }
  }

  /// Length in metres of a degree on the equator of WGS 84, as OGC's scale denominators define it.
  static let metresPerDegree = WebMercator.halfWorld / 180

  /// A set of 31 levels that step by 2; level 0 is as high as the world.
  private static func quad(
    identifier: String, projection: Projection, boundingBox: BoundingBox, metresPerUnit: Double
  ) -> TileMatrixSet {
    let columns = Int((boundingBox.width / boundingBox.height).rounded())
    let matrices = (0...TileID.zoomMax).map { zoom in
      TileMatrix(
        identifier: String(zoom), cellSize: boundingBox.height / 256 / Double(1 << zoom), metresPerUnit: metresPerUnit,
        origin: SIMD2(boundingBox.west, boundingBox.north), matrixWidth: columns << zoom, matrixHeight: 1 << zoom)
    }
    do {
      return try TileMatrixSet(
        identifier: identifier, uri: "http://www.opengis.net/def/tilematrixset/OGC/1.0/\(identifier)",
        projection: projection, boundingBox: boundingBox, matrices: matrices)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension TileMatrixSet {
  /// A set in degrees, from the edges of its levels' tiles, such as 32°, 8°, 2°, 30′, 7.5′, 2.5′.
  ///
  /// Columns count from 180° west, rows from the north pole. Where an edge does not divide the world (360° are 11¼
  /// tiles of 32°), the last column and row extend beyond it, and a parent there has fewer children.
  ///
  /// - Parameters:
  ///   - tileEdges: degrees, in falling order, each a whole multiple of the next.
  ///   - tileSizes: pixels along a tile's edge, one for each level, or one for all. With a step of 3, single children
  ///     lie on whole pixels of their parent only if the size is a multiple of 3; all 3 x 3 children together always
  ///     do.
  /// - Throws: ``GridError`` with `.invalidMatrixSet` when the edges do not fit each other.
  package init(identifier: String, uri: String, tileEdges: [Double], tileSizes: [Int] = [256]) throws {
    guard tileSizes.count == 1 || tileSizes.count == tileEdges.count, tileSizes.allSatisfy({ $0 > 0 }) else {
      throw GridError(
        .invalidMatrixSet, "tile matrix set \(identifier): \(tileSizes) are not sizes for \(tileEdges.count) levels")
    }
    guard tileEdges.allSatisfy({ $0 > 1e-6 && $0 <= 360 }) else {
      throw GridError(
        .invalidMatrixSet, "tile matrix set \(identifier): \(tileEdges) are not edges between 0.000001 and 360 degrees")
    }
    let matrices = tileEdges.enumerated().map { zoom, edge in
      let size = tileSizes.count == 1 ? tileSizes[0] : tileSizes[zoom]
      return TileMatrix(
        identifier: String(zoom), cellSize: edge / Double(size), metresPerUnit: Self.metresPerDegree,
        origin: SIMD2(-180, 90), tileWidth: size, tileHeight: size, matrixWidth: Self.count(of: edge, in: 360),
        matrixHeight: Self.count(of: edge, in: 180))
    }
    try self.init(
      identifier: identifier, uri: uri, projection: .geographic, boundingBox: .world, matrices: matrices)
  }

  /// How many edges cover an extent. 2.5/60 has no exact binary form, so a quotient within rounding of a whole number
  /// is that number.
  private static func count(of edge: Double, in extent: Double) -> Int {
    let quotient = extent / edge
    let whole = quotient.rounded()
    return Int(abs(quotient - whole) < 1e-9 * whole ? whole : quotient.rounded(.up))
  }
}
