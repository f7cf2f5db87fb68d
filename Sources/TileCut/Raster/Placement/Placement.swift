import TileIndex

/// Determines a raster's georeference from its file, the files beside it and the user's options.
///
/// 0. A flat image has no place on Earth: ``FlatImage`` defines where its tiles lie.
/// 1. Affine transformation: the file's, else the world file's, else from the user's bounds.
/// 2. CRS: the user's, else the file's, else the .prj file's, else (only with bounds) WGS 84 longitude and latitude.
/// 3. Check that the two fit each other.
struct Placement {
  let path: String
  let width: Int
  let height: Int
  /// The affine transformation in the file, if it has one.
  var affine: Affine?
  /// The CRS in the file, if it has one; called only if the user gives none.
  var crs: () throws -> CoordinateReferenceSystem? = { nil }
  /// Why the file's own georeference is unusable; reported if nothing else places the raster.
  var problem: String?

  func georeference(_ options: RasterOpenOptions) throws -> Georeference {
    if options.isFlat { return FlatImage(width: width, height: height).georeference }
    let sideFiles = SideFiles(path: path)
    guard let affine = try affine ?? sideFiles.worldFile() else {
      return try stretched(options, sideFiles: sideFiles)
    }
    guard affine.inverse != nil, [affine.a, affine.b, affine.c, affine.d, affine.e, affine.f].allSatisfy(\.isFinite)
    else {
      throw CutError(
        .noGeoreference, path: path, "its georeference does not give its pixels a size",
        remedy: "repair it, for instance with gdal_edit.py -a_ullr")
    }
    guard let crs = try options.crs ?? crs() ?? sideFiles.projection() else {
      throw CutError(
        .noGeoreference, path: path, "has coordinates but does not say in which coordinate reference system",
        remedy: lookLikeDegrees(affine)
          ? "they may be degrees: give --crs EPSG:4326, or whatever it is" : "give it with --crs, or in a .prj file")
    }
    let georeference = Georeference(affine: affine, crs: crs)
    try requirePlausible(georeference)
    return georeference
  }

  /// The georeference of a raster that is stretched over the user's bounds.
  private func stretched(_ options: RasterOpenOptions, sideFiles: SideFiles) throws -> Georeference {
    guard var box = options.bounds else {
      let remedy =
        "place it with --bounds W,S,E,N (and --crs), or put a world file (.\(sideFiles.worldFileSuffixes[0])) and a .prj file beside it; or cut it as it is with --flat"
      throw CutError(
        .noGeoreference, path: path, problem ?? "does not say where on Earth it lies", remedy: remedy)
    }
    let crs = try options.crs ?? crs() ?? sideFiles.projection() ?? .wgs84LongLat
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

  private func lookLikeDegrees(_ affine: Affine) -> Bool {
    let box = Georeference(affine: affine, crs: .wgs84LongLat).bounds(width: width, height: height)
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
        "its coordinates (\(box.west), \(box.south) to \(box.east), \(box.north)) are not \(georeference.crs.unit)s of '\(georeference.crs.name)'",
        remedy: "give the coordinate reference system that they are in with --crs")
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
