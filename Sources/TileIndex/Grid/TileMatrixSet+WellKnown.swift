extension TileMatrixSet {
  /// OGC's WebMercatorQuad (17-083r4, annex D.1), the grid of web maps, continued to zoom 30.
  public static let webMercatorQuad = quad(
    identifier: "WebMercatorQuad", projection: .webMercator,
    boundingBox: BoundingBox(
      west: -WebMercator.halfWorld, south: -WebMercator.halfWorld, east: WebMercator.halfWorld,
      north: WebMercator.halfWorld),
    metresPerUnit: 1)

  /// OGC's WorldCRS84Quad (17-083r4, annex D.3): plain degrees, two tiles at level 0, continued to zoom 30.
  public static let worldCRS84Quad = quad(
    identifier: "WorldCRS84Quad", projection: .geographic, boundingBox: .world, metresPerUnit: metresPerDegree)

  /// The sets that can be asked for by name.
  public static let wellKnown: [TileMatrixSet] = [.webMercatorQuad, .worldCRS84Quad]

  /// A well-known set by its OGC identifier or URI, or nil. Case does not matter.
  public static func named(_ name: String) -> TileMatrixSet? {
    let name = name.lowercased()
    return wellKnown.first { $0.identifier.lowercased() == name || $0.uri.lowercased() == name }
  }

  /// Length of a degree on the equator of WGS 84, as OGC's scale denominators have it.
  static let metresPerDegree = WebMercator.halfWorld / 180

  /// A set of 31 levels that step by 2, whose level 0 is as high as the world.
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
