import Support
import TileIndex

/// The capabilities of WMTS (OGC 07-057r7, version 1.0.0): one layer for each raster tileset on a map's grid, through
/// KVP and REST.
package enum WMTSCapabilities {
  /// The ServiceMetadata document. Vector tilesets and flat images are left out. For one tileset alone pass only that
  /// one.
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

  /// The names of a tileset's grid in WMTS requests, the one in the document first: the grid's own, with the number of
  /// pixels appended for tiles of another size than the grid's (`WebMercatorQuad-512`), since WMTS ties the size to the
  /// tile matrix set, and the zooms; and the same without zooms.
  package static func matrixSetIdentifiers(of info: TilesetInfo) -> [String] {
    let set = WMTSMatrixSet(of: info)
    return [set.identifier, set.base]
  }

  /// The name here of a tile matrix set under another of its names: URIs and URNs of OGC, and what other programs call
  /// Web Mercator, since clients are configured with such names by hand. The name itself where nothing else is known.
  static func matrixSetName(_ name: String) -> String {
    // http://www.opengis.net/def/tilematrixset/OGC/1.0/NAME, urn:ogc:def:tilematrixset:OGC:1.0:NAME
    let word = name.lowercased()
    let isURI = ["http://www.opengis.net/def/", "https://www.opengis.net/def/", "urn:ogc:def:"].contains {
      word.hasPrefix($0)
    }
    let last = isURI ? name.split(whereSeparator: { $0 == "/" || $0 == ":" }).last.map(String.init) ?? name : name
    return webMercatorNames.contains(last) ? "WebMercatorQuad" : last
  }

  private static let webMercatorNames: Set = [
    "GoogleMapsCompatible", "EPSG:3857", "3857", "EPSG:900913", "900913", "GLOBAL_MERCATOR",
  ]

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

/// A tile matrix set of the WMTS document: the zooms of a grid that a tileset has, with the actual size of its tiles.
///
/// The grid's other zooms are left out, although a layer's limits exclude them: QGIS ignores the limits and requests
/// missing zooms.
struct WMTSMatrixSet {
  /// The grid's name, with the number of pixels appended if the tile size differs from the grid's.
  let base: String
  /// The base, with the first and last zoom appended unless these are all of the grid's: `WebMercatorQuad-0-6`.
  let identifier: String
  private let grid: TileMatrixSet
  private let density: Double
  private let zooms: ClosedRange<Int>

  init(of info: TilesetInfo) {
    grid = info.matrixSet
    density = info.pixelDensity
    zooms = info.zooms
    base = density == 1 ? grid.identifier : "\(grid.identifier)-\(info.tilePixels)"
    identifier = zooms == grid.zooms ? base : "\(base)-\(zooms.lowerBound)-\(zooms.upperBound)"
  }

  /// The sets of several tilesets, each once.
  static func all(of infos: [TilesetInfo]) -> [WMTSMatrixSet] {
    var known: Set<String> = []
    return infos.map(WMTSMatrixSet.init(of:)).filter { known.insert($0.identifier).inserted }
  }

  func write(to xml: inout XMLWriter) {
    xml.element("TileMatrixSet") { xml in
      xml.element("ows:Identifier", text: identifier)
      xml.element("ows:SupportedCRS", text: Self.urn(grid.projection))
      if grid == .webMercatorQuad, density == 1 {
        xml.element("WellKnownScaleSet", text: "urn:ogc:def:wkss:OGC:1.0:GoogleMapsCompatible")
      }
      for zoom in zooms { write(grid[zoom], to: &xml) }
    }
  }

  private func write(_ matrix: TileMatrix, to xml: inout XMLWriter) {
    xml.element("TileMatrix") { xml in
      xml.element("ows:Identifier", text: matrix.identifier)
      xml.element("ScaleDenominator", text: DecimalText.text(matrix.scaleDenominator / density))
      // In the order of the CRS: EPSG:3857 has x first, and so has CRS84, unlike EPSG:4326.
      var corner = [matrix.origin.x, matrix.origin.y]
      if case .fitted(let crs) = grid.projection, crs.isNorthFirst { corner.reverse() }
      xml.element("TopLeftCorner", text: corner.map { DecimalText.text($0) }.joined(separator: " "))
      xml.element("TileWidth", text: pixels(matrix.tileWidth))
      xml.element("TileHeight", text: pixels(matrix.tileHeight))
      xml.element("MatrixWidth", text: String(matrix.matrixWidth))
      xml.element("MatrixHeight", text: String(matrix.matrixHeight))
    }
  }

  private func pixels(_ size: Int) -> String { String(Int((Double(size) * density).rounded())) }

  private static func urn(_ projection: TileMatrixSet.Projection) -> String {
    switch projection {
    case .webMercator: "urn:ogc:def:crs:EPSG::3857"
    case .geographic: "urn:ogc:def:crs:OGC:1.3:CRS84"
    case .fitted(let crs): "urn:ogc:def:crs:" + crs.code.split(separator: ":").joined(separator: "::")
    }
  }
}

/// A WMTS error (07-057r7, section 7.2.4, and OWS Common).
struct WMTSError: Error {
  enum Code: String {
    case missingParameterValue = "MissingParameterValue"
    case invalidParameterValue = "InvalidParameterValue"
    case tileOutOfRange = "TileOutOfRange"
    case operationNotSupported = "OperationNotSupported"
    case noApplicableCode = "NoApplicableCode"
  }

  let code: Code
  /// The invalid parameter, if there is one.
  let locator: String?
  let text: String

  init(_ code: Code, _ locator: String?, _ text: String) {
    (self.code, self.locator, self.text) = (code, locator, text)
  }

  /// The WMTS error for any other error.
  ///
  /// - Parameter reason: the message for other clients.
  init(_ error: any Error, reason: String) {
    switch error {
    case let error as WMTSError: self = error
    case let error as GridError where error.code == .zoomOutOfRange:
      self.init(.invalidParameterValue, "TileMatrix", reason)
    case let error as GridError:
      self.init(.tileOutOfRange, error.code == .columnOutOfRange ? "TileCol" : "TileRow", reason)
    case let error as ServeError where error.code == .unknownTileset:
      self.init(.invalidParameterValue, "Layer", reason)
    case let error as ServeError where error.code == .badRequest: self.init(.invalidParameterValue, nil, reason)
    default: self.init(.noApplicableCode, nil, reason)
    }
  }
}

/// An exception report (OGC 06-121r3, section 8), the error response of WMTS.
package enum OWSException {
  /// - Parameters:
  ///   - code: one of the codes of the specification, such as `InvalidParameterValue`.
  ///   - locator: the invalid parameter.
  ///   - text: what is wrong and what would be valid.
  package static func document(code: String, locator: String? = nil, text: String) -> [UInt8] {
    var xml = XMLWriter()
    let root: KeyValuePairs = [
      "xmlns": "http://www.opengis.net/ows/1.1", "version": "1.1.0", "xml:lang": "en",
    ]
    xml.element("ExceptionReport", root) { xml in
      if let locator {
        xml.element("Exception", ["exceptionCode": code, "locator": locator]) { xml in
          xml.element("ExceptionText", text: text)
        }
      } else {
        xml.element("Exception", ["exceptionCode": code]) { xml in xml.element("ExceptionText", text: text) }
      }
    }
    return xml.bytes
  }
}
