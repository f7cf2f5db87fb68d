import TileIndex

/// Determines a raster's georeference from its file, the files beside it and the user's options.
///
/// 0. A flat image has no place on Earth: ``FlatImage`` defines where its tiles lie.
/// 1. Transformation from pixels: of the .aux.xml file, else the file's (affine or control points), else the world
///    file's, else from the user's bounds.
/// 2. CRS: the user's, else the .aux.xml file's, else the file's, else the .prj file's, else (only with bounds) WGS 84
///    longitude and latitude.
/// 3. Check that the two fit each other, and that PROJ has what an exact datum shift needs.
struct Placement {
  let path: String
  let width: Int
  let height: Int
  /// The affine transformation in the file, if it has one.
  var affine: Affine?
  /// The ground control points in the file, if it has any.
  var controlPoints: [GroundControlPoint] = []
  /// The CRS in the file, if it has one; called only if neither the user nor the .aux.xml file gives one.
  var crs: () throws -> CoordinateReferenceSystem? = { nil }
  /// Why the file's own georeference is unusable; reported if nothing else places the raster.
  var problem: String?
  /// Collects what the user should know of the georeference.
  let warnings: WarningList

  func georeference(_ options: RasterOpenOptions) throws -> Georeference {
    if options.isFlat { return FlatImage(width: width, height: height).georeference }
    let sideFiles = SideFiles(path: path)
    guard var georeference = try transformation(options, sideFiles: sideFiles) else {
      return try stretched(options, sideFiles: sideFiles)
    }
    let affine = georeference.affine
    guard affine.inverse != nil, [affine.a, affine.b, affine.c, affine.d, affine.e, affine.f].allSatisfy(\.isFinite)
    else {
      throw CutError(
        .noGeoreference, path: path, "its georeference does not give its pixels a size",
        remedy: "repair it, for instance with gdal_edit.py -a_ullr")
    }
    guard let crs = try knownCRS(options, sideFiles: sideFiles) else {
      let mayBeDegrees = lookLikeDegrees(georeference)
      throw CutError(
        .noGeoreference, path: path, "has coordinates but does not say in which coordinate reference system",
        remedy: mayBeDegrees ? "they may be degrees" : "give it, or a .prj file beside it",
        repair: .nameCRS(likely: mayBeDegrees ? "EPSG:4326" : nil))
    }
    georeference.crs = crs
    try requirePlausible(georeference)
    warnAboutDatum(georeference)
    return georeference
  }

  /// The transformation of pixels to coordinates in a CRS that is not yet known; nil if there is none.
  private func transformation(_ options: RasterOpenOptions, sideFiles: SideFiles) throws -> Georeference? {
    let auxiliary = options.auxiliary
    if let affine = auxiliary?.affine ?? (auxiliary?.controlPoints.isEmpty != false ? affine : nil) {
      return Georeference(affine: affine, crs: .wgs84LongLat)
    }
    let points = auxiliary.map(\.controlPoints).flatMap { $0.isEmpty ? nil : $0 } ?? controlPoints
    if points.count >= 3 { return try fitted(points) }
    return try sideFiles.worldFile().map { Georeference(affine: $0, crs: .wgs84LongLat) }
  }

  private func fitted(_ points: [GroundControlPoint]) throws -> Georeference {
    guard let transform = ControlPointTransform(points, width: width, height: height) else {
      throw CutError(
        .noGeoreference, path: path, "its \(points.count) ground control points lie on a line, or are not finite",
        remedy: "add points, or place it with --bounds W,S,E,N after removing them")
    }
    // A point that is a pixel off is seen on the map.
    if transform.error.rms > 1 {
      func rounded(_ pixels: Double) -> Double { (pixels * 10).rounded() / 10 }
      warnings.add(
        "\(path): the polynomial of order \(transform.order) misses its \(points.count) ground control points by"
          + " \(rounded(transform.error.rms)) pixels (at most \(rounded(transform.error.largest)));"
          + " for an exact fit warp it first with gdalwarp -tps")
    }
    return Georeference(
      affine: transform.affine(width: width, height: height), controlPoints: transform, crs: .wgs84LongLat)
  }

  private func knownCRS(_ options: RasterOpenOptions, sideFiles: SideFiles) throws -> CoordinateReferenceSystem? {
    if let crs = options.crs { return crs }
    if let auxiliary = options.auxiliary, let projection = auxiliary.projection {
      return try CoordinateReferenceSystem(definition: projection, path: auxiliary.path)
    }
    return try crs() ?? sideFiles.projection()
  }

  private func warnAboutDatum(_ georeference: Georeference) {
    let crs = georeference.crs
    let area = georeference.geographicBounds(width: width, height: height)
    let affine = georeference.affine
    let metres = crs.isGeographic ? 6_378_137 * crs.unitFactor : crs.unitFactor
    let pixel = abs(affine.a * affine.e - affine.b * affine.d).squareRoot() * metres
    if let gap = DatumShift.gap(from: crs, area: area, pixelMetres: pixel) { warnings.add("\(path): \(gap)") }
  }

  /// The georeference of a raster that is stretched over the user's bounds.
  private func stretched(_ options: RasterOpenOptions, sideFiles: SideFiles) throws -> Georeference {
    guard var box = options.bounds else {
      let remedy =
        "place it by its edges in degrees: tilecut cut '\(path)' -o OUT.mbtiles --bounds W,S,E,N (and --crs"
        + " if it is drawn in another projection); or put a world file (.\(sideFiles.worldFileSuffixes[0])) and"
        + " a .prj file beside it; or cut it as it is with --flat"
      throw CutError(
        .noGeoreference, path: path, problem ?? "does not say where on Earth it lies", remedy: remedy)
    }
    let crs = try knownCRS(options, sideFiles: sideFiles) ?? .wgs84LongLat
    if box.west >= box.east { box.east += 360 }
    guard box.south < box.north else {
      throw CutError(.invalidOption, "the bounds have no area", remedy: "give --bounds W,S,E,N in degrees")
    }
    let transform = try CoordinateTransform(from: .wgs84LongLat, to: crs, areaOfInterest: box)
    guard let projected = transform.transformBounds(box), projected.width > 0, projected.height > 0 else {
      throw CutError(
        .invalidOption, path: path, "the bounds have no image in '\(crs.name)'",
        remedy: "check --bounds (W,S,E,N in degrees) and --crs")
    }
    let affine = Affine(
      a: projected.width / Double(width), b: 0, c: projected.west, d: 0, e: -projected.height / Double(height),
      f: projected.north)
    return Georeference(affine: affine, crs: crs)
  }

  private func lookLikeDegrees(_ georeference: Georeference) -> Bool {
    let box = georeference.bounds(width: width, height: height)
    return box.west >= -361 && box.east <= 361 && box.south >= -91 && box.north <= 91
  }

  /// Refuses a geographic CRS with coordinates in metres, which would place the raster outside of the map without a
  /// message.
  private func requirePlausible(_ georeference: Georeference) throws {
    let box = georeference.bounds(width: width, height: height)
    guard georeference.crs.isGeographic else { return try requireSize(box, georeference.crs) }
    let turn = 2 * Double.pi / georeference.crs.unitFactor
    let isInside =
      box.west > -1.1 * turn && box.east < 1.1 * turn && box.south > -0.27 * turn && box.north < 0.27 * turn
    guard isInside else {
      throw CutError(
        .noGeoreference, path: path,
        "its coordinates (\(box.west), \(box.south) to \(box.east), \(box.north)) are not"
          + " \(georeference.crs.unit)s of '\(georeference.crs.name)'",
        remedy: "give the one that they are in", repair: .nameCRS(likely: nil))
    }
    try requireSize(box, georeference.crs)
  }

  /// Refuses coordinates beyond a few circumferences of the Earth and pixels smaller than a hundredth of a millimetre.
  private func requireSize(_ box: BoundingBox, _ crs: CoordinateReferenceSystem) throws {
    let metres = crs.isGeographic ? 6_378_137 * crs.unitFactor : crs.unitFactor
    let reach = max(abs(box.west), abs(box.east), abs(box.south), abs(box.north)) * metres
    let pixel = min(box.width / Double(width), box.height / Double(height)) * metres
    guard reach < 1e9, pixel > 1e-5 else {
      throw CutError(
        .noGeoreference, path: path,
        "its pixels of \(pixel) metres, up to \(reach) metres from the origin, are none of a map of the Earth",
        remedy: "correct its georeference, or the coordinate reference system with --crs")
    }
  }
}

extension FlatImage {
  /// The georeference by which the image's pixels equal those of its tiles.
  var georeference: Georeference {
    let matrix = TileMatrixSet.webMercatorQuad[zoom]
    return Georeference(
      affine: Affine(a: matrix.cellSize, b: 0, c: matrix.origin.x, d: 0, e: -matrix.cellSize, f: matrix.origin.y),
      crs: .webMercator)
  }
}
