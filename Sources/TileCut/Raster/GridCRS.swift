import CPROJ
package import TileIndex

extension CoordinateReferenceSystem {
  /// What a grid needs of a CRS: a ``CRSLookup`` by PROJ.
  ///
  /// - Parameter code: authority and code, such as `EPSG:2056`.
  /// - Throws: `GridError` for a code that PROJ does not know; ``CutError`` `.systemError` if PROJ does not work.
  package static func forGrid(_ code: String) throws -> CRSDefinition {
    let crs: CoordinateReferenceSystem
    do {
      crs = try CoordinateReferenceSystem(definition: code)
    } catch let error as CutError where error.code != .systemError {
      throw GridError(.invalidMatrixSet, error.message)
    }
    let context = try PROJContext()
    guard let object = context.create(crs.definition)?.unbound else {
      throw context.failure() ?? CutError(.invalidOption, "PROJ does not know \(code)")
    }
    let axes = object.axisAbbreviations
    let area = object.areaOfUse
    let best = DatumShift.best(object, area, PROJ_GRID_AVAILABILITY_DISCARD_OPERATION_IF_MISSING_GRID)
    let transform =
      try best.flatMap { CoordinateTransform($0) }
      ?? CoordinateTransform(from: crs, to: .wgs84LongLat, areaOfInterest: area)
    func mapped(
      _ points: [SIMD2<Double>], _ map: (UnsafeMutableBufferPointer<SIMD2<Double>>) -> Void
    ) -> [SIMD2<Double>] {
      var points = points
      points.withUnsafeMutableBufferPointer { map($0) }
      return points
    }
    return CRSDefinition(
      code: crs.code ?? code, name: crs.name, wkt: object.wkt1,
      metresPerUnit: crs.isGeographic ? crs.unitFactor * WebMercator.radius : crs.unitFactor,
      isNorthFirst: object.isNorthFirst, axes: axes, areaOfUse: area,
      toDegrees: { mapped($0) { transform.transform($0) } }, fromDegrees: { mapped($0) { transform.inverse($0) } })
  }
}

extension CoordinateReferenceSystem {
  /// Whether the authority's axis order begins with north, as EPSG's does for degrees.
  ///
  /// - Throws: ``CutError`` if PROJ does not work. A code that it does not know has no order.
  static func isNorthFirst(code: String) throws -> Bool {
    try PROJContext().create(code)?.unbound.isNorthFirst ?? false
  }
}

extension PROJObject {
  fileprivate var isNorthFirst: Bool {
    let visual = context.own(proj_normalize_for_visualization(context.pointer, pointer))
    return visual.map { $0.axisNames != axisNames } ?? false
  }

  /// WKT 1 as GDAL writes it, or nil.
  fileprivate var wkt1: String? {
    proj_as_wkt(context.pointer, pointer, PJ_WKT1_GDAL, nil).map { String(cString: $0).split { $0.isNewline } }
      .map { lines in lines.map { $0.drop { $0 == " " } }.joined() }
  }

  /// The names of a CRS's first two axes.
  fileprivate var axisNames: [String] { coordinateAxes.map(\.name) }
  fileprivate var axisAbbreviations: [String] { coordinateAxes.map(\.abbreviation) }

  private var coordinateAxes: [(name: String, abbreviation: String)] {
    guard let system = context.own(proj_crs_get_coordinate_system(context.pointer, pointer)) else { return [] }
    return (0..<Int32(2)).compactMap { index in
      var name: UnsafePointer<CChar>?
      var abbreviation: UnsafePointer<CChar>?
      guard
        proj_cs_get_axis_info(
          context.pointer, system.pointer, index, &name, &abbreviation, nil, nil, nil, nil, nil) != 0,
        let name, let abbreviation
      else { return nil }
      return (String(cString: name), String(cString: abbreviation))
    }
  }

  /// Where a CRS is meant for, in degrees; the west may be greater than the east. Nil if PROJ does not know.
  fileprivate var areaOfUse: BoundingBox? {
    var (west, south, east, north) = (0.0, 0.0, 0.0, 0.0)
    guard proj_get_area_of_use(context.pointer, pointer, &west, &south, &east, &north, nil) != 0, west >= -180 else {
      return nil
    }
    return BoundingBox(west: west, south: south, east: east, north: north)
  }
}
