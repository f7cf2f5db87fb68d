import Support
import TileIndex

/// What WMTS offers (OGC 07-057r7, version 1.0.0): one layer a raster tileset on a map's grid, through KVP and REST.
package enum WMTSCapabilities {
  /// The ServiceMetadata document. Vector tilesets and flat images are left out. For one tileset alone pass only that one.
  package static func document(_ infos: [TilesetInfo], at address: ServiceAddress) -> [UInt8] {
    let rasters = infos.filter(\.isWMTSLayer)
    var xml = XMLWriter()
    xml.element(
      "Capabilities",
      [
        "xmlns": "http://www.opengis.net/wmts/1.0", "xmlns:ows": "http://www.opengis.net/ows/1.1",
        "xmlns:xlink": "http://www.w3.org/1999/xlink", "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "xsi:schemaLocation":
          "http://www.opengis.net/wmts/1.0 http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd",
        "version": "1.0.0",
      ]
    ) { xml in
      service(rasters, &xml)
      operations(at: address, &xml)
      xml.element("Contents") { xml in
        for info in rasters { layer(info, at: address, &xml) }
        for set in WMTSMatrixSet.all(of: rasters) { set.write(to: &xml) }
      }
      let whole =
        infos.count == 1 ? ServicePaths.wmtsCapabilities(infos[0].id) : ServicePaths.wmtsCapabilities
      xml.element("ServiceMetadataURL", ["xlink:href": address.url(whole)])
    }
    return xml.bytes
  }

  /// The names under which WMTS requests may ask for a tileset's grid, the one that the document gives first: the grid's own, with the number of pixels behind it for
  /// tiles of another size than the grid's (`WebMercatorQuad-512`), since WMTS ties the size to the tile matrix set, and the zooms behind that; and the same without zooms.
  package static func matrixSetIdentifiers(of info: TilesetInfo) -> [String] {
    let set = WMTSMatrixSet(of: info)
    return [set.identifier, set.base]
  }

  private static func service(_ infos: [TilesetInfo], _ xml: inout XMLWriter) {
    xml.element("ows:ServiceIdentification") { xml in
      xml.element("ows:Title", text: infos.count == 1 ? infos[0].name : "Tilesets")
      xml.element("ows:ServiceType", text: "OGC WMTS")
      xml.element("ows:ServiceTypeVersion", text: "1.0.0")
    }
  }

  private static func operations(at address: ServiceAddress, _ xml: inout XMLWriter) {
    xml.element("ows:OperationsMetadata") { xml in
      for name in ["GetCapabilities", "GetTile"] {
        xml.element("ows:Operation", ["name": name]) { xml in
          xml.element("ows:DCP") { xml in
            xml.element("ows:HTTP") { xml in
              xml.element("ows:Get", ["xlink:href": address.url(ServicePaths.wmts) + "?"]) { xml in
                xml.element("ows:Constraint", ["name": "GetEncoding"]) { xml in
                  xml.element("ows:AllowedValues") { xml in xml.element("ows:Value", text: "KVP") }
                }
              }
            }
          }
        }
      }
    }
  }

  private static func layer(_ info: TilesetInfo, at address: ServiceAddress, _ xml: inout XMLWriter) {
    let bounds = info.shownBounds
    let set = WMTSMatrixSet(of: info)
    func corner(_ x: Double, _ y: Double) -> String { "\(DecimalText.text(x)) \(DecimalText.text(y))" }
    xml.element("Layer") { xml in
      xml.element("ows:Title", text: info.name)
      if let description = info.metadata.description { xml.element("ows:Abstract", text: description) }
      xml.element("ows:WGS84BoundingBox") { xml in
        xml.element("ows:LowerCorner", text: corner(bounds.west, bounds.south))
        xml.element("ows:UpperCorner", text: corner(bounds.east, bounds.north))
      }
      xml.element("ows:Identifier", text: info.id)
      xml.element("Style", ["isDefault": "true"]) { xml in xml.element("ows:Identifier", text: "default") }
      xml.element("Format", text: info.format.mediaType)
      xml.element("TileMatrixSetLink") { xml in
        xml.element("TileMatrixSet", text: set.identifier)
        xml.element("TileMatrixSetLimits") { xml in
          for zoom in info.zooms { limits(info.tileRange(zoom: zoom), info.matrixSet[zoom].identifier, &xml) }
        }
      }
      let id = PercentEncoding.segment(info.id)
      let template =
        "/wmts/1.0.0/\(id)/default/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.\(info.format.fileExtension)"
      xml.element(
        "ResourceURL",
        ["format": info.format.mediaType, "resourceType": "tile", "template": address.url(template)])
    }
  }

  private static func limits(_ range: TileRange, _ identifier: String, _ xml: inout XMLWriter) {
    xml.element("TileMatrixLimits") { xml in
      xml.element("TileMatrix", text: identifier)
      xml.element("MinTileRow", text: String(range.rows.lowerBound))
      xml.element("MaxTileRow", text: String(range.rows.upperBound))
      xml.element("MinTileCol", text: String(range.columns.lowerBound))
      xml.element("MaxTileCol", text: String(range.columns.upperBound))
    }
  }
}
