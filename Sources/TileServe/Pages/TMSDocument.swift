import Support
import TileIndex

/// The resources of OSGeo's Tile Map Service Specification 1.0.0. Rows there count from the south.
package enum TMSDocument {
  /// The TileMapService resource: a TileMap for each raster tileset that TMS can describe.
  package static func service(_ infos: [TilesetInfo], at address: ServiceAddress) -> [UInt8] {
    var xml = XMLWriter()
    xml.element("TileMapService", ["version": "1.0.0", "services": address.url(ServicePaths.index)]) { xml in
      xml.element("Title", text: "Tilesets")
      xml.element("Abstract", text: "")
      xml.element("TileMaps") { xml in
        for info in infos where canDescribe(info) {
          xml.element(
            "TileMap",
            [
              "title": info.name, "srs": srs(info.matrixSet.projection), "profile": profile(info),
              "href": address.url(ServicePaths.tms(info.id)),
            ])
        }
      }
    }
    return xml.bytes
  }

  /// The TileMap resource of a tileset; nil where TMS cannot describe it: vector tiles, and grids whose levels do not
  /// end on a common southern edge, from which TMS would count.
  ///
  /// BoundingBox is that of the grid, since GDAL counts tiles from its corners; the tileset's own bounds are in its
  /// TileJSON.
  package static func tileMap(_ info: TilesetInfo, at address: ServiceAddress) -> [UInt8]? {
    guard canDescribe(info) else { return nil }
    let box = info.matrixSet.boundingBox
    let top = info.matrixSet[0]
    let south = southernEdge(top)
    let density = info.pixelDensity
    let number = DecimalText.text
    var xml = XMLWriter()
    // GDAL recognises the document by its beginning: the version has to come first.
    xml.element("TileMap", ["version": "1.0.0", "tilemapservice": address.url(ServicePaths.tms)]) { xml in
      xml.element("Title", text: info.name)
      xml.element("Abstract", text: info.metadata.description ?? "")
      xml.element("SRS", text: srs(info.matrixSet.projection))
      xml.element(
        "BoundingBox",
        ["minx": number(box.west), "miny": number(box.south), "maxx": number(box.east), "maxy": number(box.north)])
      xml.element("Origin", ["x": number(top.origin.x), "y": number(south)])
      xml.element(
        "TileFormat",
        [
          "width": String(Int((Double(top.tileWidth) * density).rounded())),
          "height": String(Int((Double(top.tileHeight) * density).rounded())), "mime-type": info.format.mediaType,
          "extension": info.format.fileExtension,
        ])
      xml.element("TileSets", ["profile": profile(info)]) { xml in
        // GDAL takes the number of a level from its place in this list, so the list begins at 0 wherever the tiles do.
        for zoom in 0...info.zooms.upperBound {
          xml.element(
            "TileSet",
            [
              "href": address.url("\(ServicePaths.tms(info.id))/\(zoom)"),
              "units-per-pixel": number(info.matrixSet[zoom].cellSize / density), "order": String(zoom),
            ])
        }
      }
    }
    return xml.bytes
  }

  private static func canDescribe(_ info: TilesetInfo) -> Bool {
    let set = info.matrixSet
    let south = southernEdge(set[0])
    return info.isRaster
      && set.matrices[...info.zooms.upperBound].allSatisfy { matrix in
        matrix.tileWidth == set[0].tileWidth && matrix.tileHeight == set[0].tileHeight
          && abs(southernEdge(matrix) - south) < 1e-9 * max(abs(south), 1)
      }
  }

  private static func southernEdge(_ matrix: TileMatrix) -> Double {
    matrix.bounds(column: 0, row: matrix.matrixHeight - 1).south
  }

  private static func srs(_ projection: TileMatrixSet.Projection) -> String {
    switch projection {
    case .webMercator: "EPSG:3857"
    case .geographic: "EPSG:4326"
    case .fitted(let crs): crs.code
    }
  }

  private static func profile(_ info: TilesetInfo) -> String {
    switch info.matrixSet {
    case .webMercatorQuad: "global-mercator"
    case .worldCRS84Quad: "global-geodetic"
    default: "local"
    }
  }
}
