/// What the directories of a PMTiles archive say, entry by entry: counts, order, extent. No tile is read.
struct PMTilesSurvey {
  /// The tiles of one zoom.
  struct Level {
    var hull: HilbertHull
    var tiles: UInt64 = 0
    /// A shared content counts for every tile.
    var bytes: UInt64 = 0
  }

  private(set) var counts = PMTilesHeader.Counts()
  private(set) var leafDirectories = 0
  /// Directories above each other: 1 for a root alone.
  private(set) var depth = 1
  /// By zoom; only zooms that have tiles.
  private(set) var levels: [Int: Level] = [:]
  /// True when every content follows the one before it, or was there before.
  private(set) var isClustered = true
  /// Entries whose tiles the entry before them has too.
  private(set) var overlaps: [UInt64] = []
  /// Entries that end outside the tile data.
  private(set) var outside: [UInt64] = []
  /// Leaf directories that lie before the one of smaller tile ids.
  private(set) var leavesOutOfOrder = 0
  /// One entry for each content, in the order of the file.
  private(set) var contents: [PMTilesDirectory.Entry] = []

  /// 6 GB of entries; real archives of the whole Earth have fewer.
  private static let entryCountMax = 1 << 28

  /// - Throws: ``BundleError`` with `.malformed` for a damaged directory.
  /// - Complexity: O(entries), 24 bytes of memory for each.
  init(_ reader: PMTilesReader) throws {
    var all: [PMTilesDirectory.Entry] = []
    var end: UInt64 = 0
    var lastID: UInt64 = 0
    // Of each level of directories.
    var lastLeaf = [UInt64](repeating: 0, count: PMTilesArchive.depthMax + 1)
    let dataBytes = UInt64(reader.archive.header.tileData.count)
    try reader.forEachEntry { entry, depth in
      self.depth = max(self.depth, depth)
      guard !entry.isLeaf else {
        leafDirectories += 1
        if entry.offset < lastLeaf[depth] { leavesOutOfOrder += 1 }
        lastLeaf[depth] = entry.offset
        return
      }
      counts.entries += 1
      counts.tiles += UInt64(entry.runLength)
      if counts.entries > 1, entry.firstID < lastID { overlaps.append(entry.firstID) }
      lastID = max(lastID, entry.endID)
      if entry.offset + UInt64(entry.byteCount) > dataBytes { outside.append(entry.firstID) }
      if entry.offset == end { end += UInt64(entry.byteCount) } else if entry.offset > end { isClustered = false }
      insert(entry)
      guard all.count < Self.entryCountMax else { throw reader.archive.damaged("it has too many entries") }
      all.append(entry)
    }
    all.sort { ($0.offset, $0.firstID) < ($1.offset, $1.firstID) }
    var count = 0
    for index in all.indices where index == 0 || all[index].offset != all[index - 1].offset {
      all[count] = all[index]
      count += 1
    }
    all.removeSubrange(count...)
    counts.contents = UInt64(count)
    contents = all
  }

  /// A run may go on in the next zoom.
  private mutating func insert(_ entry: PMTilesDirectory.Entry) {
    var ids = entry.firstID..<entry.endID
    while let tile = ids.isEmpty ? nil : try? TileID(hilbertID: ids.lowerBound) {
      let end = min(TileID.firstHilbertID(zoom: tile.zoom + 1), ids.upperBound)
      let part = ids.lowerBound..<end
      levels[tile.zoom, default: Level(hull: HilbertHull(zoom: tile.zoom))].insert(part, bytes: entry.byteCount)
      ids = end..<ids.upperBound
    }
  }
}

extension PMTilesSurvey.Level {
  fileprivate mutating func insert(_ ids: Range<UInt64>, bytes count: UInt32) {
    hull.insert(ids)
    tiles += UInt64(ids.count)
    bytes &+= UInt64(ids.count) &* UInt64(count)
  }
}

extension PMTilesReader {
  /// Passes every entry to a closure by rising tile id, leaf directories before what is in them, with the number of
  /// directories down to it.
  ///
  /// - Complexity: O(entries).
  func forEachEntry(_ body: (PMTilesDirectory.Entry, _ depth: Int) throws -> Void) throws {
    try forEachEntry(archive.root, 0..<TileID.firstHilbertID(zoom: TileID.zoomMax + 1), depth: 1, body)
  }

  private func forEachEntry(
    _ directory: PMTilesDirectory, _ ids: Range<UInt64>, depth: Int,
    _ body: (PMTilesDirectory.Entry, _ depth: Int) throws -> Void
  ) throws {
    guard depth <= PMTilesArchive.depthMax else {
      throw archive.damaged("its directories lie too deep in each other")
    }
    for (index, entry) in directory.entries.enumerated() {
      try body(entry, depth)
      guard entry.isLeaf else { continue }
      let inner = directory.ids(ofLeafAt: index, in: ids)
      try forEachEntry(try archive.leaf(entry, ids: inner), inner, depth: depth + 1, body)
    }
  }
}
