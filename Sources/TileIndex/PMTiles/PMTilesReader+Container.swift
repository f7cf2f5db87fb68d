import Support

/// What a PMTiles archive does otherwise than other containers.
extension PMTilesReader {
  package func places() -> StoredPlaces { storedPlaces }

  package var memoryBytes: Int { archive.directoryBytes }

  package var knownTileCount: Int? { Self.known(archive.header.counts.tiles) }

  package var knownReadCount: Int? { Self.known(archive.header.counts.contents) }

  /// Makers that did not count say 0.
  private static func known(_ count: UInt64) -> Int? { Int(exactly: count).flatMap { $0 > 0 ? $0 : nil } }

  /// A run may claim billions of tiles.
  private static let tilesMax = 1 << 28

  /// By rising id, which is the order of the file: each content is read once for the tiles of a run.
  package func forEachTile(
    byID isWanted: Bool, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var count = 0
    let block = PMTilesBlock()
    try forEachEntry { entry, _ in
      guard !entry.isLeaf else { return }
      count += Int(entry.runLength)
      guard count <= Self.tilesMax else {
        throw BundleError(
          .malformed, path: path, "has more than \(Self.tilesMax) tiles", remedy: "extract a part of it")
      }
      let first = try TileID(hilbertID: entry.firstID)
      try withContent(entry, of: first, ahead: block) { bytes in
        for id in entry.firstID..<entry.endID { try body(try TileID(hilbertID: id), bytes) }
      }
    }
  }

  /// Each stored content is read once.
  package func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection {
    let survey = try PMTilesSurvey(self)
    var blobs = BundleInspection.Tally(countsDistinct: false, progress)
    for entry in survey.contents {
      guard let tile = try? TileID(hilbertID: entry.firstID) else { continue }
      try withContent(entry, of: tile) { blobs.insert($0) }
    }
    let levels = survey.levels.sorted { $0.key < $1.key }.compactMap { _, level in
      level.hull.range.map {
        BundleInspection.Level($0, tiles: Int(clamping: level.tiles), bytes: Int(clamping: level.bytes))
      }
    }
    var found = BundleInspection(
      self, .pmtiles, fileBytes: FileSystem.size(path), tiles: Int(clamping: survey.counts.tiles),
      distinctTiles: survey.contents.count, levels: levels, blobs)
    found.archive = BundleInspection.Archive(
      entries: Int(clamping: survey.counts.entries), leafDirectories: survey.leafDirectories,
      isClustered: archive.header.isClustered)
    return found
  }

  package var bytesCopiedForMetadata: Int? { archive.header.tileData.count + archive.header.leaves.count }

  /// Header and metadata are written anew; directories and tiles are copied as they are.
  package func replaceMetadata(
    _ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void
  ) throws {
    let header = archive.header
    let document = try PMTilesMetadata.document(rows, places: storedPlaces.all(), path: path)
    let packed = header.internalCompression == .gzip ? try PMTilesTree.packed(document) : document
    let file = try OutputFile(target: path, replacing: true)
    do {
      let copy = try SpoolFile(file.path, from: PMTilesSpool.headBytes)
      var bytes = 0
      func copied(_ section: PMTilesHeader.Section) throws -> PMTilesHeader.Section {
        let start = copy.end
        try archive.forEachBlock(of: section) { block in
          try copy.append(block)
          bytes += block.count
          progress(bytes)
        }
        return PMTilesHeader.Section(offset: start, count: section.count)
      }
      var root: [UInt8] = []
      try archive.forEachBlock(of: header.root) { root += Array($0) }
      let tiles = try copied(header.tileData)
      let metadata = PMTilesHeader.Section(offset: copy.end, count: packed.count)
      try copy.append(packed)
      let leaves = try copied(header.leaves)
      let changed = PMTilesHeader(
        header, root: PMTilesHeader.Section(offset: PMTilesHeader.byteCount, count: root.count), metadata: metadata,
        leaves: leaves, tileData: tiles, stating: StoredMetadata(rows))
      let head = changed.bytes + root
      guard head.count <= PMTilesSpool.headBytes else {
        throw archive.damaged("its root directory has \(root.count) bytes")
      }
      try copy.overwrite(head + [UInt8](repeating: 0, count: PMTilesSpool.headBytes - head.count), at: 0)
      try copy.flush()
    } catch {
      file.remove()
      throw error
    }
    try file.commit()
  }
}
