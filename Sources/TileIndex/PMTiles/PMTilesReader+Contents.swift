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

  /// Hands the tiles of a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the zoom), 8 bytes of memory for each tile in the rectangle; more than ``tilesMax`` of them are refused.
  public func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    // Column above row, the row from the south: numbers in the order of the walk.
    var places: [UInt64] = []
    let height = matrixSet[range.zoom].matrixHeight
    try forEachRun(archive.root, Self.allIDs, wanted: Self.ids(zoom: range.zoom), depth: 1) { run in
      for id in run {
        guard let tile = try? TileID(hilbertID: id), range.contains(tile) else { continue }
        guard places.count < Self.tilesMax else {
          throw archive.damaged(
            "more than \(Self.tilesMax) tiles of zoom \(range.zoom) are too many to be put in order")
        }
        places.append(UInt64(tile.column) << 32 | UInt64(MBTilesRow.flipped(tile.row, matrixHeight: height)))
      }
    }
    places.sort()
    for place in places {
      let row = MBTilesRow.flipped(Int(place & 0xffff_ffff), matrixHeight: height)
      let tile = TileID(unchecked: range.zoom, Int(place >> 32), row)
      _ = try withTile(tile) { try body(tile, $0) }
    }
  }

  /// Half a gigabyte of places.
  private static let tilesMax = 1 << 26

  /// Hands the ids of every entry that meets the wanted ones to a closure.
  private func forEachRun(
    _ directory: PMTilesDirectory, _ ids: Range<UInt64>, wanted: Range<UInt64>, depth: Int,
    _ body: (Range<UInt64>) throws -> Void
  ) throws {
    try checkDepth(depth)
    var index = directory.index(atOrBefore: wanted.lowerBound) ?? 0
    while index < directory.entries.count, directory.entries[index].firstID < wanted.upperBound {
      let entry = directory.entries[index]
      if entry.isLeaf {
        let inner = directory.ids(ofLeafAt: index, in: ids)
        try forEachRun(try archive.leaf(entry, ids: inner), inner, wanted: wanted, depth: depth + 1, body)
      } else {
        try body((entry.firstID..<entry.endID).clamped(to: wanted))
      }
      index += 1
    }
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
