extension TileID {
  /// The Bing Maps quadkey: one digit for each zoom, 0 north west, 1 north east, 2 south west, 3 south east; empty at zoom 0.
  ///
  /// Only for sets that step by 2 from a single tile, as WebMercatorQuad does; a column or row beyond such a set is a programming error.
  public var quadkey: String {
    precondition(isInQuadTree, "tile \(self) lies outside a quad tree, so it has no quadkey")
    return String(
      decoding: (0..<zoom).reversed().map { bit in
        UInt8(ascii: "0") + UInt8(column >> bit & 1) + UInt8(row >> bit & 1) * 2
      }, as: UTF8.self)
  }

  /// The tile of a Bing Maps quadkey.
  ///
  /// - Throws: ``GridError`` with `.invalidQuadkey` for other digits than 0 to 3 and for more than ``zoomMax`` of them.
  public init(quadkey: String) throws {
    guard quadkey.utf8.count <= Self.zoomMax else {
      throw GridError(.invalidQuadkey, "quadkey \"\(quadkey)\" has more than \(Self.zoomMax) digits")
    }
    var (column, row) = (0, 0)
    for digit in quadkey.utf8 {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "3") else {
        throw GridError(.invalidQuadkey, "quadkey \"\(quadkey)\" has other digits than 0 to 3")
      }
      let quadrant = Int(digit - UInt8(ascii: "0"))
      column = column << 1 | quadrant & 1
      row = row << 1 | quadrant >> 1
    }
    self.init(unchecked: quadkey.utf8.count, column, row)
  }

  /// True when the tile lies inside a pyramid that steps by 2 from one tile.
  package var isInQuadTree: Bool {
    zoom >= 0 && zoom <= Self.zoomMax && column >= 0 && row >= 0 && column >> zoom == 0 && row >> zoom == 0
  }
}
