import CPROJ
package import TileIndex

/// Transforms coordinates between two CRSs with PROJ: x is east or longitude, y north or latitude, in the CRSs' units.
///
/// Not `Sendable`: each worker thread creates its own. Datum shift grids are used only if they are installed; PROJ does
/// not download them.
package final class CoordinateTransform {
  /// Nil if both CRSs are the same.
  private let operation: PROJObject?

  /// Prepares the transformation. This takes milliseconds, so keep the object.
  ///
  /// - Parameters:
  ///   - source: the CRS that ``transform(_:)`` maps from.
  ///   - target: the CRS that ``transform(_:)`` maps to.
  ///   - areaOfInterest: where the coordinates lie, in WGS 84 degrees; west may exceed east across the antimeridian.
  ///     PROJ chooses one datum shift for the area. Without it PROJ chooses for each point, which may leave seams.
  /// - Throws: ``CutError`` `.noGeoreference` if PROJ knows no transformation.
  package convenience init(
    from source: CoordinateReferenceSystem, to target: CoordinateReferenceSystem, areaOfInterest: BoundingBox? = nil
  ) throws {
    try self.init(from: source, to: target, areaOfInterest: areaOfInterest, in: PROJContext())
  }

  /// - Parameters:
  ///   - usesKept: whether a transformation that the context keeps is as good; it is the same one.
  ///   - context: what PROJ makes the transformation in, of the same thread; not asked for where the CRSs are the same.
  init(
    from source: CoordinateReferenceSystem, to target: CoordinateReferenceSystem, areaOfInterest: BoundingBox?,
    usesKept: Bool = true, in context: @autoclosure () throws -> PROJContext
  ) throws {
    if Self.same(source, target) {
      operation = nil
      return
    }
    let context = try context()
    func kept() -> PROJObject? {
      context.keptOperation(
        from: source.definition, to: target.definition, area: areaOfInterest?.withinOneTurn)
    }
    var made = usesKept ? kept() : nil
    if made == nil, let from = context.create(source.definition), let to = context.create(target.definition) {
      if from.isEquivalent(to: to) {
        operation = nil
        return
      }
      if usesKept { context.keepOperation(from: from, to: to, definitions: (source.definition, target.definition)) }
      made = (usesKept ? kept() : nil) ?? Self.prepare(from: from, to: to, areaOfInterest: areaOfInterest)
    }
    guard let made else {
      let words = context.takeComplaint()
      if let failure = context.failure(words) { throw failure }
      throw CutError(
        .noGeoreference,
        "PROJ knows no transformation from '\(source.name)' to '\(target.name)'" + (words.map { " (\($0))" } ?? ""),
        remedy: "check the source's coordinate reference system, or give another with --crs")
    }
    operation = made
  }

  /// A single operation, which is smooth: without it PROJ may choose another datum shift for each point.
  ///
  /// - Returns: nil if its axes cannot be put in order.
  init?(_ operation: PROJObject) {
    let context = operation.context
    guard let ordered = context.own(proj_normalize_for_visualization(context.pointer, operation.pointer)) else {
      return nil
    }
    self.operation = ordered
  }

  /// Whether both CRSs are the same, so that coordinates stay unchanged.
  package var isIdentity: Bool { operation == nil }

  /// Transforms points from the source CRS to the target CRS, in place. Points without an image become NaN.
  package func transform(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    apply(PJ_FWD, to: points)
  }

  /// Transforms points from the target CRS back to the source CRS, in place. Points without an image become NaN.
  package func inverse(_ points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    apply(PJ_INV, to: points)
  }

  /// Transforms one point from the source CRS to the target CRS, or to NaN.
  package func transform(_ point: SIMD2<Double>) -> SIMD2<Double> {
    var point = point
    withUnsafeMutablePointer(to: &point) { transform(UnsafeMutableBufferPointer(start: $0, count: 1)) }
    return point
  }

  /// Transforms one point from the target CRS back to the source CRS, or to NaN.
  package func inverse(_ point: SIMD2<Double>) -> SIMD2<Double> {
    var point = point
    withUnsafeMutablePointer(to: &point) { inverse(UnsafeMutableBufferPointer(start: $0, count: 1)) }
    return point
  }

  /// The bounding box in the target CRS of a box in the source CRS; its edges are sampled, not only its corners.
  ///
  /// If the target is geographic and the box crosses the antimeridian, west exceeds east. A box around a pole spans all
  /// longitudes.
  ///
  /// - Returns: nil if no part of the box has an image.
  package func transformBounds(_ box: BoundingBox) -> BoundingBox? {
    guard let operation else { return box }
    var (west, south, east, north) = (0.0, 0.0, 0.0, 0.0)
    let pointsPerEdge: Int32 = 21
    guard
      proj_trans_bounds(
        operation.context.pointer, operation.pointer, PJ_FWD, box.west, box.south, box.east, box.north, &west, &south,
        &east, &north, pointsPerEdge) != 0,
      west.isFinite, south.isFinite, east.isFinite, north.isFinite
    else { return nil }
    return BoundingBox(west: west, south: south, east: east, north: north)
  }

  private static func same(_ a: CoordinateReferenceSystem, _ b: CoordinateReferenceSystem) -> Bool {
    a.definition == b.definition || (a.isWebMercator && b.isWebMercator) || (a.isWGS84LongLat && b.isWGS84LongLat)
  }

  private static func prepare(from: PROJObject, to: PROJObject, areaOfInterest: BoundingBox?) -> PROJObject? {
    let context = from.context
    let area = areaOfInterest?.withinOneTurn.map { box in
      let area = proj_area_create()
      proj_area_set_bbox(area, box.west, box.south, box.east, box.north)
      return area
    }
    defer { if let area { proj_area_destroy(area) } }
    guard
      let operation = context.own(
        proj_create_crs_to_crs_from_pj(context.pointer, from.pointer, to.pointer, area ?? nil, nil))
    else { return nil }
    return context.own(proj_normalize_for_visualization(context.pointer, operation.pointer))
  }

  private func apply(_ direction: PJ_DIRECTION, to points: UnsafeMutableBufferPointer<SIMD2<Double>>) {
    guard let operation, let base = points.baseAddress else { return }
    let stride = MemoryLayout<SIMD2<Double>>.stride
    let x = UnsafeMutableRawPointer(base).assumingMemoryBound(to: Double.self)
    _ = proj_trans_generic(
      operation.pointer, direction, x, stride, points.count, x + 1, stride, points.count, nil, 0, 0, nil, 0, 0)
    // PROJ marks a failed point with infinity.
    for i in points.indices where !(points[i].x.isFinite && points[i].y.isFinite) {
      points[i] = SIMD2(repeating: .nan)
    }
  }
}

extension BoundingBox {
  /// The box in degrees with longitudes from -180 to 180, as PROJ demands it of an area of interest: west exceeds east
  /// across the antimeridian. Nil if it is no area.
  var withinOneTurn: BoundingBox? {
    guard [west, south, east, north].allSatisfy(\.isFinite), south <= north else { return nil }
    let (south, north) = (max(south, -90), min(north, 90))
    let parts = TileMatrixSet.splitAtAntimeridian(self)
    return BoundingBox(west: parts[0].west, south: south, east: parts[parts.count - 1].east, north: north)
  }
}
