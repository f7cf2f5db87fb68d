/// Zooms, extents, and walking through tiles.
extension PMTilesReader {
  private static let allIDs = 0..<TileID.firstHilbertID(zoom: TileID.zoomMax + 1)

  private static func ids(zoom: Int) -> Range<UInt64> {
    TileID.firstHilbertID(zoom: zoom)..<TileID.firstHilbertID(zoom: zoom + 1)
  }

  /// The zooms that have tiles, in ascending order, whatever the header says.
  ///
  /// - Complexity: O(log tiles) for each zoom.
  package func zooms() throws -> [Int] {
    try matrixSet.zooms.filter { zoom in
      let ids = Self.ids(zoom: zoom)
      guard let first = try firstID(from: ids.lowerBound, archive.root, Self.allIDs, depth: 1) else { return false }
      return first < ids.upperBound
    }
  }

  /// The first tile of a directory at or after an id; nil when there is none.
  private func firstID(
    from id: UInt64, _ directory: PMTilesDirectory, _ ids: Range<UInt64>, depth: Int
  ) throws -> UInt64? {
    try checkDepth(depth)
    // Only the first entry can end before the id; the next begins after it and is never empty.
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
  /// Leaf directories whose section of the Hilbert curve already lies inside the rectangle are not read. After about
  /// two million entries the rest of the curve's section is added unread, so the rectangle of a very sparse archive may
  /// be larger than its tiles require.
  /// - Complexity: O(entries of the zoom) at worst, and bounded.
  package func range(zoom: Int) throws -> TileRange? { try range(zoom: zoom, workMax: 2 << 20) }

  /// - Parameter workMax: the number of entries to look at.
  func range(zoom: Int, workMax: Int) throws -> TileRange? {
    guard matrixSet.zooms.contains(zoom) else { return nil }
    var search = RangeSearch(hull: HilbertHull(zoom: zoom), wanted: Self.ids(zoom: zoom), workLeft: workMax)
    try extend(&search, archive.root, Self.allIDs, depth: 1)
    return search.hull.range
  }

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south.
  ///
  /// - Complexity: O(tiles of the zoom), 8 bytes of memory for each tile in the rectangle; more than `tilesMax` are
  ///   refused.
  package func forEachTile(
    in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard matrixSet.zooms.contains(range.zoom) else { return }
    // Column in the high half, row from the south in the low half: the sort order is that of the walk.
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

  /// Passes the tiles of a zoom to a closure in the order of their ids, in which a clustered archive has them.
  package func forEachTileByID(zoom: Int, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    try forEachRun(archive.root, Self.allIDs, wanted: Self.ids(zoom: zoom), depth: 1) { run in
      for id in run {
        let tile = try TileID(hilbertID: id)
        _ = try withTile(tile) { try body(tile, $0) }
      }
    }
  }

  /// Half a gigabyte of addresses.
  private static let tilesMax = 1 << 26

  /// Passes the ids of every entry that overlaps the wanted ids to a closure.
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
    /// In entries. Reading a directory counts as its entries and a fixed cost.
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

/// Grows a rectangle of tiles of one zoom to contain sections of the Hilbert curve.
struct HilbertHull {
  let zoom: Int
  /// Nil until something was inserted.
  private(set) var range: TileRange?

  init(zoom: Int) { self.zoom = zoom }

  /// Extends the rectangle by the tiles with some ids, all of this zoom.
  ///
  /// - Complexity: O(zoom²), however many ids there are.
  mutating func insert(_ ids: Range<UInt64>) {
    forEachSquare(ids) { square in
      range = range?.union(square) ?? square
      return true
    }
  }

  /// True when all tiles with these ids lie in the rectangle.
  func contains(_ ids: Range<UInt64>) -> Bool {
    var isInside = true
    forEachSquare(ids) { square in
      isInside = range?.intersection(square) == square
      return isInside
    }
    return isInside
  }

  /// Splits a section of the curve into squares: 4^k tiles from a multiple of 4^k fill a square of 2^k by 2^k.
  private func forEachSquare(_ ids: Range<UInt64>, _ body: (TileRange) -> Bool) {
    func size(_ level: Int) -> UInt64 { 1 << UInt64(2 * level) }
    let first = TileID.firstHilbertID(zoom: zoom)
    let end = ids.upperBound - first
    var start = ids.lowerBound - first
    while start < end {
      // The largest square that starts here and does not pass the end.
      var level = 0
      while level < zoom, start & (size(level + 1) - 1) == 0, start + size(level + 1) <= end {
        level += 1
      }
      guard let tile = try? TileID(hilbertID: first + start) else { return }
      let (column, row) = ((tile.column >> level) << level, (tile.row >> level) << level)
      let side = 1 << level
      let square = TileRange(zoom: zoom, columns: column...(column + side - 1), rows: row...(row + side - 1))
      guard body(square) else { return }
      start += size(level)
    }
  }
}
