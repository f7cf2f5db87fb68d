/// A tile matrix set in OGC's JSON form, as its registry has them.
package struct GridDocument {
  package var id: String
  /// The EPSG code.
  package var code: Int
  package var orderedAxes: [String] = ["E", "N"]
  /// As the document orders the axes.
  package var origin: [Double]
  package var cellSizes: [Double]
  /// Tiles of the levels, across and down.
  package var sizes: [(Int, Int)]
  package var boundingBox: (lowerLeft: [Double], upperRight: [Double])?

  package init(
    id: String, code: Int, orderedAxes: [String] = ["E", "N"], origin: [Double], cellSizes: [Double],
    sizes: [(Int, Int)], boundingBox: (lowerLeft: [Double], upperRight: [Double])? = nil
  ) {
    (self.id, self.code, self.orderedAxes, self.origin) = (id, code, orderedAxes, origin)
    (self.cellSizes, self.sizes, self.boundingBox) = (cellSizes, sizes, boundingBox)
  }

  /// The first version of the standard has other names.
  package func json(isFirstVersion: Bool = false) -> String {
    let levels = cellSizes.indices.map { zoom in
      let size =
        "\"tileWidth\": 256, \"tileHeight\": 256, \"matrixWidth\": \(sizes[zoom].0), \"matrixHeight\": \(sizes[zoom].1)"
      let scale = "\"scaleDenominator\": \(cellSizes[zoom] / 0.00028)"
      return isFirstVersion
        ? "{\"identifier\": \"\(zoom)\", \(scale), \"topLeftCorner\": \(origin), \(size)}"
        : """
        {"id": "\(zoom)", \(scale), "cellSize": \(cellSizes[zoom]), "cornerOfOrigin": "topLeft",
         "pointOfOrigin": \(origin), \(size)}
        """
    }.joined(separator: ",\n")
    let crs = "http://www.opengis.net/def/crs/EPSG/0/\(code)"
    let names = isFirstVersion ? ["lowerCorner", "upperCorner"] : ["lowerLeft", "upperRight"]
    let box =
      boundingBox.map { "\"boundingBox\": {\"\(names[0])\": \($0.lowerLeft), \"\(names[1])\": \($0.upperRight)}, " }
      ?? ""
    return isFirstVersion
      ? "{\"identifier\": \"\(id)\", \"supportedCRS\": \"\(crs)\", \(box)\"tileMatrix\": [\(levels)]}"
      : """
      {"id": "\(id)", "uri": "http://www.opengis.net/def/tilematrixset/OGC/1.0/\(id)", "crs": "\(crs)",
       "orderedAxes": \(orderedAxes), \(box)"tileMatrices": [\(levels)]}
      """
  }

  /// Levels that step by 2 from a coarsest one.
  package static func doubling(_ first: Double, _ count: Int) -> [Double] {
    (0..<count).map { first / Double(1 << $0) }
  }

  /// OGC's registry. Sizes are as published, with their rounding.
  package static let utm31 = GridDocument(
    id: "UTM31WGS84Quad", code: 32631, origin: [-9501965.72931276, 20003931.4586255],
    cellSizes: [78140.3572602559, 39070.178630128, 19535.089315064, 9767.5446575319, 4883.772328766, 2441.886164383],
    sizes: (0..<6).map { (1 << $0, 2 << $0) })

  package static let europe = GridDocument(
    id: "EuropeanETRS89_LAEAQuad", code: 3035, orderedAxes: ["Y", "X"], origin: [5_500_000, 2_000_000],
    cellSizes: [17578.125, 8789.0625, 4394.53125, 2197.265625, 1098.6328125, 549.31640625, 274.658203125],
    sizes: (0..<7).map { (1 << $0, 1 << $0) })

  package static let arctic = GridDocument(
    id: "UPSArcticWGS84Quad", code: 5041, origin: [-14440759.350252, 18440759.350252],
    cellSizes: [
      128443.4324, 64221.71621, 32110.85811, 16055.42905, 8027.714526, 4013.857263, 2006.928632, 1003.464316,
      501.7321579, 250.866079, 125.4330395, 62.71651974, 31.35825987, 15.67912993, 7.839564967, 3.919782484,
      1.959891242, 0.979945621, 0.48997281, 0.244986405, 0.122493203, 0.061246601, 0.030623301, 0.01531165, 0.007655825,
    ],
    sizes: (0..<25).map { (1 << $0, 1 << $0) })

  /// New Zealand's grid of Antarctica; its coarse levels reach beyond the others.
  package static let rossSea = GridDocument(
    id: "LINZAntarticaMapTilegrid", code: 5482, origin: [6918457.73, -918457.73],
    cellSizes: doubling(114688, 14),
    sizes: [1, 1, 2, 4, 7, 13, 26, 52, 104, 207, 413, 826, 1652, 3303].map { ($0, $0) })

  /// UTM zone 13, around Colorado.
  package static let colorado = GridDocument(
    id: "Colorado13N", code: 32613, origin: [400000, 4_600_000], cellSizes: doubling(4096, 10),
    sizes: (0..<10).map { (1 << $0, 1 << $0) },
    boundingBox: (lowerLeft: [400000, 4_000_000], upperRight: [700000, 4_600_000]))

  /// Switzerland, from the corner of the country's own web maps.
  package static let swiss = GridDocument(
    id: "LV95Quad", code: 2056, origin: [2_420_000, 1_350_000], cellSizes: doubling(2048, 12),
    sizes: (0..<12).map { (1 << $0, 1 << $0) },
    boundingBox: (lowerLeft: [2_420_000, 1_030_000], upperRight: [2_900_000, 1_350_000]))
}
