/// What gdal2tiles writes beside its tiles: `tilemapresource.xml`, a TileMap of OSGeo's Tile Map Service 1.0.0, whose rows count from the south.
struct TileMapResource {
  var title: String?
  var abstract: String?
  let matrixSet: TileMatrixSet

  /// - Throws: ``BundleError`` with `.malformed` for grids that are not known here.
  init(_ text: String, path: String) throws {
    title = Self.element("Title", text)
    abstract = Self.element("Abstract", text)
    let profile = Self.attribute("profile", of: "TileSets", text) ?? ""
    let crs = Self.element("SRS", text) ?? ""
    if profile.contains("raster") {
      throw BundleError(
        .malformed, path: path, "its tiles lie on an image of its own and on no map (profile \"raster\")",
        remedy: "make it again with gdal2tiles --profile=mercator")
    }
    guard profile.contains("geodetic") || (profile.isEmpty && crs.hasSuffix(":4326")) else {
      guard profile.contains("mercator") || crs.isEmpty || Self.mercatorNames.contains(crs) else {
        throw BundleError(
          .malformed, path: path, "its tiles have a grid that is not known here (\(crs) in \(TileFolder.resourceName))",
          remedy: "make it again with gdal2tiles --profile=mercator")
      }
      matrixSet = .webMercatorQuad
      return
    }
    matrixSet = .worldCRS84Quad
    if let order = Self.attribute("order", of: "TileSet", text).flatMap({ Int($0) }),
      (0...TileID.zoomMax).contains(order),
      let size = Self.attribute("units-per-pixel", of: "TileSet", text).flatMap({ Double($0) }),
      abs(size / matrixSet[order].cellSize - 1) > 0.25
    {
      throw BundleError(
        .malformed, path: path, "its tiles are degrees with one tile at zoom 0, a grid that is not known here",
        remedy: "make it again with gdal2tiles --profile=geodetic --tmscompatible")
    }
  }

  private static let mercatorNames = ["EPSG:3857", "EPSG:900913", "EPSG:3785", "OSGEO:41001"]

  /// The text of the first element of a name.
  private static func element(_ name: String, _ text: String) -> String? {
    guard let start = text.firstRange(of: "<\(name)>")?.upperBound,
      let end = text[start...].firstRange(of: "</\(name)>")?.lowerBound
    else { return nil }
    return unescaped(text[start..<end])
  }

  /// An attribute of the first element of a name.
  private static func attribute(_ name: String, of element: String, _ text: String) -> String? {
    guard let start = text.firstRange(of: "<\(element) ")?.upperBound,
      let end = text[start...].firstIndex(of: ">"),
      let value = text[start..<end].firstRange(of: "\(name)=\"")?.upperBound,
      let quote = text[value..<end].firstIndex(of: "\"")
    else { return nil }
    return unescaped(text[value..<quote])
  }

  private static func unescaped(_ text: Substring) -> String {
    var result = String(text)
    for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
      result = result.replacing(entity, with: character)
    }
    return result
  }
}
