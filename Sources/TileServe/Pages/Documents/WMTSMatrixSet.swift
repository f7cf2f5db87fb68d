import Support
import TileIndex

/// A tile matrix set as a WMTS document lists it: the zooms of a grid that a tileset has, with the pixels that its tiles really have.
///
/// Not the grid's other zooms, though a layer's limits leave them out: QGIS looks only at the set, and asks a tileset for zooms that it has not.
struct WMTSMatrixSet {
  /// The grid's name, with the number of pixels behind it where tiles have another than the grid's.
  let base: String
  /// The base, with the first and last zoom behind it unless these are all that the grid has: `WebMercatorQuad-0-6`.
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
      // Both CRS here have x first: EPSG:3857 by its definition, CRS84 in contrast to EPSG:4326.
      xml.element(
        "TopLeftCorner", text: "\(DecimalText.text(matrix.origin.x)) \(DecimalText.text(matrix.origin.y))")
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
    }
  }
}
