import Support

/// `doc.kml`, with which gdal2tiles describes its tiles for Google Earth: the names of the coarsest of them and where
/// they lie. With `--xyz` it writes no other document.
struct SuperOverlay {
  static let fileName = "doc.kml"

  /// As the name of a tile's file has them.
  private let zoom, column, row: Int
  /// In degrees.
  private let box: BoundingBox

  /// Nil for what is not of gdal2tiles: the first link is named `zoom/column/row.extension` and has a box.
  init?(_ bytes: [UInt8]) {
    var texts: [String: String] = [:]
    var element: String?
    var isEnded = false
    var isInside = false
    try? XMLReader.read(bytes) { event in
      switch event {
      case .start(let name, _, _):
        if name == "NetworkLink" { isInside = true }
        element = isInside && !isEnded && texts[name] == nil ? name : nil
      case .text(let text): if let element { texts[element, default: ""] += text }
      case .end(let name):
        element = nil
        if name == "NetworkLink" { isEnded = true }
      }
    }
    let name = texts["name"]?.split(separator: ".").first?.split(separator: "/").compactMap { Int($0) } ?? []
    let edges = ["west", "south", "east", "north"].compactMap { texts[$0].flatMap { Double($0) } }
    guard name.count == 3, edges.count == 4, (0...TileID.zoomMax + 1).contains(name[0]) else { return nil }
    (zoom, column, row) = (name[0], name[1], name[2])
    box = BoundingBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3])
  }

  /// The grid and the order of rows in which the tile lies where the document says. Of two that fit rows count from the
  /// north, because gdal2tiles says the other in `tilemapresource.xml`.
  ///
  /// - Throws: ``BundleError`` with `.malformed` if it lies so in no grid that is known here.
  func place(path: String) throws -> (matrixSet: TileMatrixSet, isTMS: Bool, zoomShift: Int) {
    for (set, shift) in [(TileMatrixSet.webMercatorQuad, 0), (.worldCRS84Quad, 0), (.worldCRS84Quad, 1)] {
      for isTMS in [false, true] where set.zooms.contains(zoom - shift) {
        let matrix = set[zoom - shift]
        guard (0..<matrix.matrixWidth).contains(column), (0..<matrix.matrixHeight).contains(row) else { continue }
        let row = isTMS ? MBTilesRow.flipped(row, matrixHeight: matrix.matrixHeight) : row
        let found = set.geographicBounds(of: TileID(unchecked: zoom - shift, column, row))
        let tolerance = (box.east - box.west) / 256
        let differences = [
          found.west - box.west, found.south - box.south, found.east - box.east, found.north - box.north,
        ]
        if differences.allSatisfy({ abs($0) <= tolerance }) { return (set, isTMS, shift) }
      }
    }
    throw BundleError(
      .malformed, path: path,
      """
      its \(Self.fileName) says that tile \(zoom)/\(column)/\(row) lies from \(box.west) to \(box.east) degrees east and \
      from \(box.south) to \(box.north) degrees north, and in no grid that is known here does it lie there
      """,
      remedy: "make it again with gdal2tiles --tmscompatible, or without --xyz")
  }
}
