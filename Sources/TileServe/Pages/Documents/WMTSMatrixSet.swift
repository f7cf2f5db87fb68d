import TileIndex

/// A tile matrix set as a WMTS document lists it: some zooms of a grid, with the pixels that the tiles really have.
struct WMTSMatrixSet {
  let identifier: String
  private let grid: TileMatrixSet
  private let density: Double
  private var zooms: ClosedRange<Int>

  init(of info: TilesetInfo) {
    grid = info.matrixSet
    density = info.pixelDensity
    zooms = info.zooms
    identifier = density == 1 ? grid.identifier : "\(grid.identifier)-\(info.tilePixels)"
  }

  /// The sets of several tilesets, each once, with the zooms that any of them has.
  static func all(of infos: [TilesetInfo]) -> [WMTSMatrixSet] {
    var sets: [WMTSMatrixSet] = []
    var places: [String: Int] = [:]
    for set in infos.map(WMTSMatrixSet.init(of:)) {
      guard let place = places[set.identifier] else {
        places[set.identifier] = sets.count
        sets.append(set)
        continue
      }
      let known = sets[place].zooms
      sets[place].zooms =
        min(known.lowerBound, set.zooms.lowerBound)...max(known.upperBound, set.zooms.upperBound)
    }
    return sets
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
