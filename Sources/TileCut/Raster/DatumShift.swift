import CPROJ
import Synchronization
import TileIndex

/// What is missing for an exact shift from a CRS's datum to WGS 84, the datum of tiles.
///
/// PROJ reports neither: without a datum it takes the coordinates for WGS 84's, without a grid it uses a less exact
/// shift.
struct DatumShift {
  private let name: String
  private let isBallpark: Bool
  private let missingGrids: [String]
  /// Metres by which the shift may be off; nil if the registry does not state it.
  private let accuracy: Double?
  /// The same with all grids.
  private let accuracyWithGrids: Double?

  /// A sentence for a warning; nil if the shift is exact within half a pixel.
  ///
  /// - Parameters:
  ///   - area: where the raster lies, in WGS 84 degrees.
  ///   - pixelMetres: the edge of a pixel.
  static func gap(from crs: CoordinateReferenceSystem, area: BoundingBox?, pixelMetres: Double) -> String? {
    guard !crs.isWebMercator, !crs.isWGS84LongLat else { return nil }
    return shift(from: crs, area: area?.withinOneTurn)?.gap(pixelMetres: pixelMetres)
  }

  private func gap(pixelMetres: Double) -> String? {
    if isBallpark, missingGrids.isEmpty {
      return
        "its coordinate reference system '\(name)' says nothing of how its datum lies to WGS 84:"
        + " the map may be some hundred metres off; give an exact one with --crs"
    }
    let loss = accuracy.flatMap { accuracy in accuracyWithGrids.map { accuracy - $0 } }
    // Half a pixel shows; below three metres the accuracies that the registry states mean little.
    guard !missingGrids.isEmpty, isBallpark || (loss ?? 0) > max(pixelMetres / 2, 3) else { return nil }
    let extent = isBallpark ? "some hundred" : "up to \(accuracy.map { "\(Int($0.rounded(.up)))" } ?? "some")"
    return
      "the exact datum shift of '\(name)' needs \(missingGrids.joined(separator: " and ")), which PROJ does not have:"
      + " the map may be \(extent) metres off; install the grid (projsync, or the package proj-data)"
  }

  // MARK: Looking up

  private struct Key: Hashable {
    let definition: String
    let area: BoundingBox?
  }

  /// The look-ups of this process, since a mosaic may have a thousand sources in one CRS.
  private static let known = Mutex<[Key: DatumShift?]>([:])
  private static let knownMax = 256

  private static func shift(from crs: CoordinateReferenceSystem, area: BoundingBox?) -> DatumShift? {
    // Whole degrees, so that neighbouring sources share one.
    let area = area.map {
      BoundingBox(
        west: $0.west.rounded(.down), south: $0.south.rounded(.down), east: $0.east.rounded(.up),
        north: $0.north.rounded(.up))
    }
    let key = Key(definition: crs.definition, area: area)
    if let shift = known.withLock({ $0[key] }) { return shift }
    let shift = DatumShift(crs, area: area)
    known.withLock { if $0.count < knownMax { $0[key] = .some(shift) } }
    return shift
  }

  /// Asks PROJ for the shift that it uses and the one that it would use with all grids; nil if there is no shift whose
  /// exactness matters.
  private init?(_ crs: CoordinateReferenceSystem, area: BoundingBox?) {
    guard let context = try? PROJContext(), let object = context.create(crs.definition), !Self.isOfWGS84(object),
      let used = Self.best(object, area, PROJ_GRID_AVAILABILITY_DISCARD_OPERATION_IF_MISSING_GRID)
    else { return nil }
    let ideal = Self.best(object, area, PROJ_GRID_AVAILABILITY_IGNORED) ?? used
    name = object.unbound.name
    isBallpark = proj_coordoperation_has_ballpark_transformation(context.pointer, used.pointer) != 0
    missingGrids = Self.missingGrids(ideal)
    (accuracy, accuracyWithGrids) = (Self.accuracy(used), Self.accuracy(ideal))
    if isBallpark, missingGrids.isEmpty {
      // Spheres have no datum, and coordinates on the ellipsoids of our time are WGS 84's within a few metres.
      guard let axes = object.unbound.axes, axes.major != axes.minor, abs(axes.major - 6_378_137) > 1 else {
        return nil
      }
    }
  }

  private static func isOfWGS84(_ crs: PROJObject) -> Bool {
    let datum = crs.context.own(proj_crs_get_datum_forced(crs.context.pointer, crs.unbound.pointer))
    return crs.type != PJ_TYPE_BOUND_CRS && datum?.name.hasPrefix("World Geodetic System 1984") == true
  }

  /// The operation to WGS 84 that PROJ ranks first.
  static func best(
    _ crs: PROJObject, _ area: BoundingBox?, _ grids: PROJ_GRID_AVAILABILITY_USE
  ) -> PROJObject? {
    let context = crs.context
    guard let wgs84 = context.create("EPSG:4326"),
      let factory = proj_create_operation_factory_context(context.pointer, nil)
    else { return nil }
    defer { proj_operation_factory_context_destroy(factory) }
    proj_operation_factory_context_set_grid_availability_use(context.pointer, factory, grids)
    proj_operation_factory_context_set_spatial_criterion(
      context.pointer, factory, PROJ_SPATIAL_CRITERION_PARTIAL_INTERSECTION)
    if let area {
      proj_operation_factory_context_set_area_of_interest(
        context.pointer, factory, area.west, area.south, area.east, area.north)
    }
    guard let list = proj_create_operations(context.pointer, crs.pointer, wgs84.pointer, factory) else { return nil }
    defer { proj_list_destroy(list) }
    return context.own(proj_list_get(context.pointer, list, 0))
  }

  private static func accuracy(_ operation: PROJObject) -> Double? {
    let metres = proj_coordoperation_get_accuracy(operation.context.pointer, operation.pointer)
    return metres >= 0 ? metres : nil
  }

  private static func missingGrids(_ operation: PROJObject) -> [String] {
    let context = operation.context
    return (0..<proj_coordoperation_get_grid_used_count(context.pointer, operation.pointer)).compactMap { index in
      var name: UnsafePointer<CChar>?
      var isAvailable: Int32 = 0
      guard
        proj_coordoperation_get_grid_used(
          context.pointer, operation.pointer, index, &name, nil, nil, nil, nil, nil, &isAvailable) != 0
      else { return nil }
      return isAvailable == 0 ? name.map { String(cString: $0) } : nil
    }
  }
}
