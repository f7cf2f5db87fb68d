extension TileID {
  /// The tile's number in PMTiles v3 order: all tiles of the zooms above come first, then this zoom along a Hilbert curve (PMTiles v3, section 4.1).
  ///
  /// 0/0/0 is 0, then 1/0/0, 1/0/1, 1/1/1, 1/1/0 are 1 to 4. Through zoom 30 the ids stay below 2^61.
  /// Only for sets that step by 2 from a single tile; a column or row beyond such a set is a programming error.
  /// - Complexity: O(zoom).
  public var hilbertID: UInt64 {
    precondition(isInQuadTree, "tile \(self) lies outside a quad tree, so it has no Hilbert id")
    var (x, y) = (UInt64(column), UInt64(row))
    var distance: UInt64 = 0
    for bit in (0..<zoom).reversed() {
      let side: UInt64 = 1 << UInt64(bit)
      let (rx, ry) = (x >> UInt64(bit) & 1, y >> UInt64(bit) & 1)
      distance += (side * side) * (3 * rx ^ ry)
      (x, y) = Self.rotated(x & (side - 1), y & (side - 1), side: side, rx: rx, ry: ry)
    }
    return Self.firstHilbertID(zoom: zoom) + distance
  }

  /// The tile with a number in PMTiles v3 order; the inverse of ``hilbertID``.
  ///
  /// - Throws: ``GridError`` with `.invalidHilbertID` for ids that lie beyond ``zoomMax``.
  public init(hilbertID: UInt64) throws {
    guard hilbertID < Self.firstHilbertID(zoom: Self.zoomMax + 1) else {
      throw GridError(.invalidHilbertID, "Hilbert id \(hilbertID) lies beyond zoom \(Self.zoomMax)")
    }
    // 4^zoom <= 3 id + 1 < 4^(zoom + 1), so the zoom is half the number of binary digits.
    let zoom = (63 - (3 * hilbertID + 1).leadingZeroBitCount) / 2
    var distance = hilbertID - Self.firstHilbertID(zoom: zoom)
    var (x, y): (UInt64, UInt64) = (0, 0)
    for bit in 0..<UInt64(zoom) {
      let side: UInt64 = 1 << bit
      let rx = distance >> 1 & 1
      let ry = (distance ^ rx) & 1
      (x, y) = Self.rotated(x, y, side: side, rx: rx, ry: ry)
      x += side * rx
      y += side * ry
      distance >>= 2
    }
    self.init(unchecked: zoom, Int(x), Int(y))
  }

  /// The number of tiles in all zooms above one, (4^zoom - 1) / 3: the id of the first tile there.
  package static func firstHilbertID(zoom: Int) -> UInt64 { ((1 << UInt64(2 * zoom)) - 1) / 3 }

  /// Turns the part of the curve in one quadrant (of the given side) the way it lies in the whole.
  private static func rotated(
    _ x: UInt64, _ y: UInt64, side: UInt64, rx: UInt64, ry: UInt64
  ) -> (UInt64, UInt64) {
    guard ry == 0 else { return (x, y) }
    return rx == 1 ? (side - 1 - y, side - 1 - x) : (y, x)
  }
}
