import CPROJ
import TileIndex

/// What is missing for an exact shift from a CRS's datum to WGS 84, the datum of tiles.
///
/// PROJ reports neither: without a datum it takes the coordinates for WGS 84's, without a grid it uses a less exact
/// shift.
struct DatumShift {
  private let context = PROJContext()
  private let crs: PROJObject
  private let wgs84: PROJObject
  private let area: BoundingBox?

  /// - Parameter area: where the raster lies, in WGS 84 degrees.
  init?(from crs: CoordinateReferenceSystem, area: BoundingBox?) {
    guard !crs.isWebMercator, !crs.isWGS84LongLat, let object = context.create(crs.definition),
      let wgs84 = context.create("EPSG:4326")
    else { return nil }
    (self.crs, self.wgs84, self.area) = (object, wgs84, area)
  }

  /// A sentence for a warning; nil if the shift is exact within half a pixel.
  ///
  /// - Parameter pixelMetres: the edge of a pixel.
  func gap(pixelMetres: Double) -> String? {
    guard !isOfWGS84, let used = best(PROJ_GRID_AVAILABILITY_DISCARD_OPERATION_IF_MISSING_GRID) else { return nil }
    let ideal = best(PROJ_GRID_AVAILABILITY_IGNORED) ?? used
    let isBallpark = proj_coordoperation_has_ballpark_transformation(context.pointer, used.pointer) != 0
    let missing = missingGrids(ideal)
    if isBallpark, missing.isEmpty {
      // Spheres have no datum, and coordinates on the ellipsoids of our time are WGS 84's within a few metres.
      guard let axes = crs.unbound.axes, axes.major != axes.minor, abs(axes.major - 6_378_137) > 1 else { return nil }
      return
        "its coordinate reference system '\(name)' says nothing of how its datum lies to WGS 84:"
        + " the map may be some hundred metres off; give an exact one with --crs"
    }
    let (usedMetres, idealMetres) = (accuracy(used), accuracy(ideal))
    let loss = usedMetres.flatMap { used in idealMetres.map { used - $0 } }
    // Half a pixel shows; below three metres the accuracies that the registry states mean little.
    guard !missing.isEmpty, isBallpark || (loss ?? 0) > max(pixelMetres / 2, 3) else { return nil }
    let extent = isBallpark ? "some hundred" : "up to \(usedMetres.map { "\(Int($0.rounded(.up)))" } ?? "some")"
    return
      "the exact datum shift of '\(name)' needs \(missing.joined(separator: " and ")), which PROJ does not have:"
      + " the map may be \(extent) metres off; install the grid (projsync, or the package proj-data)"
  }

  private var name: String { crs.unbound.name }

  private var isOfWGS84: Bool {
    let datum = context.own(proj_crs_get_datum_forced(context.pointer, crs.unbound.pointer))
    return crs.type != PJ_TYPE_BOUND_CRS && datum?.name.hasPrefix("World Geodetic System 1984") == true
  }

  /// The operation that PROJ ranks first.
  private func best(_ grids: PROJ_GRID_AVAILABILITY_USE) -> PROJObject? {
    guard let factory = proj_create_operation_factory_context(context.pointer, nil) else { return nil }
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

  /// In metres; nil if the registry does not state it.
  private func accuracy(_ operation: PROJObject) -> Double? {
    let metres = proj_coordoperation_get_accuracy(context.pointer, operation.pointer)
    return metres >= 0 ? metres : nil
  }

  private func missingGrids(_ operation: PROJObject) -> [String] {
    (0..<proj_coordoperation_get_grid_used_count(context.pointer, operation.pointer)).compactMap { index in
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
