/// Which tiles there are.
extension PMTilesReader {
  private static let allIDs = 0..<TileID.firstHilbertID(zoom: TileID.zoomMax + 1)

  private static func ids(zoom: Int) -> Range<UInt64> {
    TileID.firstHilbertID(zoom: zoom)..<TileID.firstHilbertID(zoom: zoom + 1)
  }

  /// The zooms that have tiles, rising; not what the header claims.
  ///
  /// - Complexity: O(log tiles) for each zoom.
  public func zooms() throws -> [Int] {
    try matrixSet.zooms.filter { zoom in
      let ids = Self.ids(zoom: zoom)
      guard let first = try firstID(from: ids.lowerBound, archive.root, Self.allIDs, depth: 1) else { return false }
      return first < ids.upperBound
    }
  }

  /// The first tile of a directory from an id on; nil when there is none.
  private func firstID(
    from id: UInt64, _ directory: PMTilesDirectory, _ ids: Range<UInt64>, depth: Int
  ) throws -> UInt64? {
    try checkDepth(depth)
    // Only the first entry can end before the id; what comes behind it begins later and is never empty.
    let start = directory.index(atOrBefore: id) ?? 0
    for index in start..<min(start + 2, directory.entries.count) {
      let entry = directory.entries[index]
      if !entry.isLeaf {
        if id < entry.endID { return max(id, entry.firstID) }
      } else {
        let inner = directory.ids(ofLeafAt: index, in: ids)
        if let found = try firstID(from: id, archive.leaf(entry, ids: inner), inner, depth: depth + 1) { return found }
      }
    }
    return nil
  }

  /// The rectangle around the tiles of a zoom; nil when it has none.
  ///
  /// Leaf directories whose part of the Hilbert curve lies inside the rectangle so far are not read. After some million entries the rest of the curve's part
  /// is taken as it is, so that the rectangle of a very ragged archive may be larger than its tiles' own.
  /// - Complexity: O(entries of the zoom) at worst, and bounded.
  public func range(zoom: Int) throws -> TileRange? { try range(zoom: zoom, workMax: 2 << 20) }

  /// - Parameter workMax: so many entries are looked at.
  func range(zoom: Int, workMax: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    var search = RangeSearch(hull: HilbertHull(zoom: zoom), wanted: Self.ids(zoom: zoom), workLeft: workMax)
    try extend(&search, archive.root, Self.allIDs, depth: 1)
    return search.hull.range
  }

  private struct RangeSearch {
    var hull: HilbertHull
    let wanted: Range<UInt64>
    /// In entries. Reading a directory costs as much as its entries and some more.
    var workLeft: Int
  }

  private func extend(
    _ search: inout RangeSearch, _ directory: PMTilesDirectory, _ ids: Range<UInt64>, depth: Int
  ) throws {
    try checkDepth(depth)
    var index = directory.index(atOrBefore: search.wanted.lowerBound) ?? 0
    while index < directory.entries.count, directory.entries[index].firstID < search.wanted.upperBound {
      let entry = directory.entries[index]
      guard search.workLeft > 0 else {
        search.hull.insert((entry.firstID..<ids.upperBound).clamped(to: search.wanted))
        return
      }
      search.workLeft -= 1
      if !entry.isLeaf {
        search.hull.insert((entry.firstID..<entry.endID).clamped(to: search.wanted))
      } else {
        let inner = directory.ids(ofLeafAt: index, in: ids)
        if !search.hull.contains(inner.clamped(to: search.wanted)) {
          let leaf = try archive.leaf(entry, ids: inner)
          search.workLeft -= 64 + leaf.entries.count
          try extend(&search, leaf, inner, depth: depth + 1)
        }
      }
      index += 1
    }
  }

  private func checkDepth(_ depth: Int) throws {
    guard depth <= PMTilesArchive.depthMax else {
      throw archive.damaged("its directories lie too deep in each other")
    }
  }
}
