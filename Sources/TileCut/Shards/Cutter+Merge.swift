import Support
import TileImage
package import TileIndex

/// Merging the shards of a plan.
///
/// 1. Every shard has a receipt, and its files have the sizes that it says (``FinishedShards``).
/// 2. The levels above the shards' roots are made of the roots' pixels, as an undivided cut makes them.
/// 3. The bundle's writer gets the tiles in the order of an undivided cut (``CutOrder``), so that the bundle has the
///    same bytes. A PMTiles archive depends on its tiles alone: it gets them in the order of their ids, zoom by zoom
///    and shard by shard, since a shard is one contiguous section of the Hilbert curve of each zoom. They are then
///    copied once. A tileset of the shards copies none.
/// 4. What was copied of each shard is what its receipt says (``TileDigest``), or nothing is published. Of the bundles
///    that a tileset names, all bytes are compared if that is asked for, else the size, the number of tiles and where
///    they lie.
extension Cutter {
  /// Makes the bundle from all shards.
  ///
  /// - Parameters:
  ///   - path: the plan's file.
  ///   - verifying: whether a tileset of shards names none of which a byte is another than when it was cut.
  ///   - onProgress: called with the tiles of the shards that were copied, now and then.
  /// - Throws: ``CutError`` `.badSource` if a shard is missing or damaged; ``BundleError``.
  package func merge(
    _ shards: ShardPlan, path: String, to output: String, replacing: Bool = false, scheme: TileScheme = .xyz,
    verifying: Bool = false, cancellation: CutCancellation = CutCancellation(),
    onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> CutSummary {
    try shards.check(self, path: path)
    try BundleFile.check(output: output, grid: options.matrixSet)
    try BundleFile.check(output: output, hashes: options.tileHashes)
    let start = ContinuousClock.now
    let finished = try FinishedShards(shards, path: path, plan.matrixSet)
    let kind = try BundleFile.kind(ofOutput: output)
    let sink: any TileSink
    var tileset: ShardedWriter?
    if kind == .tileset {
      let writer = try ShardedWriter(
        path: output, top: finished.folder.top, shardZoom: shards.shardZoom, matrixSet: options.matrixSet,
        format: plan.encoding.format, replacing: replacing, mixing: plan.encoding.mixing)
      (sink, tileset) = (writer, writer)
    } else {
      sink = try BundleFile.create(
        output, matrixSet: options.matrixSet, format: plan.encoding.format, replacing: replacing, scheme: scheme,
        mixing: plan.encoding.mixing, hashes: options.tileHashes)
    }
    do {
      // Kept until all tiles above the roots are there.
      var early: [EncodedTile]?
      let assembler = PyramidAssembler(plan: plan, makeDrawer: makeSubtreeCutter) { tile, bytes in
        if early == nil { try sink.put(tile, bytes) } else { early?.append(EncodedTile(id: tile, bytes: bytes)) }
      }
      let goOn: () throws -> Void = {
        if cancellation.isCancelled { throw CutError(.cancelled, "cancelled") }
      }
      let step: () throws -> Void = {
        try goOn()
        onProgress?(
          CutProgress(
            tilesDone: finished.tilesDone, tilesTotal: finished.tileCount, tilesStored: sink.tileCount,
            bytesStored: assembler.bytesStored, seconds: (ContinuousClock.now - start) / .seconds(1)))
      }
      switch kind {
      case .pmtiles:
        early = []
        for shard in shards.shards.indices { try accept(shard, of: finished, assembler) }
        let top = (early ?? []).sorted { $0.id.hilbertID < $1.id.hilbertID }
        early = nil
        for tile in top { try sink.put(tile.id, tile.bytes) }
        try putByID(finished, assembler, step)
        for shard in shards.shards.indices { try finished.checkCopied(shard) }
      case .tileset:
        for shard in shards.shards.indices {
          try step()
          try accept(shard, of: finished, assembler)
          defer { finished.close(shard) }
          if verifying { try finished.verify(shard, goOn) }
          finished.tilesDone += finished.receipts[shard].tiles
          guard let bundle = try finished.bundle(shard) else { continue }
          let formats = bundle.metadata.mixedFormats
          assembler.formats.formUnion(formats.isEmpty ? Set([bundle.metadata.format].compactMap(\.self)) : formats)
          try finished.reading(shard) {
            try tileset?.add(bundle, root: shards.shards[shard].root, tiles: finished.receipts[shard].tiles)
          }
        }
      default: try putInOrder(finished, assembler, step)
      }
      try step()
      let (summary, warnings) = try finish(sink, assembler)
      finished.folder.removeLeftovers()
      return CutSummary(
        path: output, tileCount: summary.tiles, distinctTileCount: summary.distinctTiles, zoomMin: summary.minZoom,
        zoomMax: summary.maxZoom, fileBytes: summary.bytes, seconds: (ContinuousClock.now - start) / .seconds(1),
        warnings: warnings)
    } catch {
      sink.discard()
      throw OutputFile.failure(error, output)
    }
  }

  /// Makes what lies above a shard's root.
  private func accept(_ shard: Int, of finished: FinishedShards, _ assembler: PyramidAssembler) throws {
    let receipt = finished.receipts[shard]
    try assembler.accept(
      CutSubtree(
        root: finished.shards.shards[shard].root, tiles: [],
        rootPixels: try finished.rootPixels(shard, plan.matrixSet[plan.workingZoom]), tilesDone: receipt.tilesDone,
        extent: receipt.visibleExtent))
  }

  private func putInOrder(
    _ finished: FinishedShards, _ assembler: PyramidAssembler, _ step: () throws -> Void
  ) throws {
    let shards = finished.shards
    let numbers = Dictionary(uniqueKeysWithValues: shards.shards.enumerated().map { ($1.root, $0) })
    func shard(of subtree: TileID) throws -> Int {
      if let number = numbers[plan.matrixSet.ancestor(of: subtree, zoom: shards.shardZoom)] { return number }
      throw PlanFile.unfit(finished.path, "has no shard for tile \(subtree)")
    }
    var subtreesLeft = [Int](repeating: 0, count: shards.shards.count)
    for subtree in subtrees { subtreesLeft[try shard(of: subtree)] += 1 }
    var order = CutOrder(plan, topZoom: max(shards.shardZoom, plan.zooms.lowerBound))
    for subtree in subtrees {
      try step()
      let number = try shard(of: subtree)
      let bundle = try finished.bundle(number)
      for tile in order.tiles(completedBy: subtree) {
        guard let bytes = try finished.reading(number, { try bundle?.tile(tile) }) else { continue }
        try finished.add(tile, bytes, of: number)
        try assembler.store([EncodedTile(id: tile, bytes: bytes)])
      }
      subtreesLeft[number] -= 1
      guard subtreesLeft[number] == 0 else { continue }
      try finished.checkCopied(number)
      finished.close(number)
      try accept(number, of: finished, assembler)
    }
  }

  private func putByID(_ finished: FinishedShards, _ assembler: PyramidAssembler, _ step: () throws -> Void) throws {
    let shards = finished.shards.shards
    let order = shards.indices.sorted { shards[$0].root.hilbertID < shards[$1].root.hilbertID }
    for zoom in plan.zooms where zoom >= finished.shards.shardZoom {
      for shard in order {
        try step()
        guard let archive = try finished.archive(shard) else { continue }
        try finished.reading(shard) {
          try archive.forEachTileByID(zoom: zoom) { tile, bytes in
            let bytes = Array(bytes)
            try finished.add(tile, bytes, of: shard)
            try assembler.store([EncodedTile(id: tile, bytes: bytes)])
            if finished.tilesDone % 256 == 0 { try step() }
          }
        }
      }
    }
  }
}

/// The shards of a plan that are all done. What is copied of them is compared with their receipts.
private final class FinishedShards {
  let shards: ShardPlan
  /// The plan's file.
  let path: String
  let folder: ShardFolder
  let receipts: [ShardReceipt]
  private let matrixSet: TileMatrixSet
  private var open: [Int: any BundleReader] = [:]
  /// Of each shard, what was copied so far.
  private var copied: [TileDigest]
  /// Tiles that were copied, or that a tileset names.
  var tilesDone = 0

  /// - Throws: ``CutError`` `.badSource` naming those that are not done.
  init(_ shards: ShardPlan, path: String, _ matrixSet: TileMatrixSet) throws {
    (self.shards, self.path, self.matrixSet) = (shards, path, matrixSet)
    let folder = ShardFolder(ofPlan: path, shards)
    let found = shards.shards.indices.map { folder.receipt($0) }
    let missing = found.indices.filter { found[$0] == nil }
    guard missing.isEmpty else {
      throw CutError(
        .badSource, path: path, "has shards that are not done: \(ShardFolder.text(missing))",
        remedy: "cut them", repair: .cutShard(nil, plan: path))
    }
    self.folder = folder
    receipts = found.compactMap(\.self)
    copied = receipts.map { _ in TileDigest() }
  }

  /// Tiles in the shards.
  var tileCount: Int { receipts.reduce(0) { $0 + $1.tiles } }

  /// The bundle of a shard, which stays open until ``close(_:)``; nil for a shard without a visible pixel.
  func bundle(_ shard: Int) throws -> (any BundleReader)? {
    if let bundle = open[shard] { return bundle }
    guard receipts[shard].bundle != nil else { return nil }
    let bundle = try reading(shard) { try BundleFile.open(folder.bundle(shard), matrixSet: nil) }
    open[shard] = bundle
    return bundle
  }

  /// The bundle of a shard as an archive, which does not stay open: opening it again for the next zoom takes a tenth of
  /// a millisecond, and its directories would stay in memory.
  func archive(_ shard: Int) throws -> PMTilesReader? {
    guard receipts[shard].bundle != nil else { return nil }
    return try reading(shard) { try PMTilesReader(path: folder.bundle(shard)) }
  }

  /// A closure that reads a shard's bundle.
  func reading<Result>(_ shard: Int, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as BundleError where error.code == .malformed && error.path == folder.bundle(shard) {
      throw damaged(folder.bundle(shard), shard)
    }
  }

  /// Notes a tile that was copied.
  ///
  /// - Throws: ``CutError`` `.badSource` if it is not below the shard's root.
  func add(_ tile: TileID, _ bytes: [UInt8], of shard: Int) throws {
    let root = shards.shards[shard].root
    guard matrixSet.ancestor(of: tile, zoom: root.zoom) == root else { throw damaged(folder.bundle(shard), shard) }
    copied[shard].add(tile, bytes)
    tilesDone += 1
  }

  /// - Throws: ``CutError`` `.badSource` if the tiles that were copied are not those that were cut.
  func checkCopied(_ shard: Int) throws {
    guard copied[shard].text == receipts[shard].content else { throw damaged(folder.bundle(shard), shard) }
  }

  /// - Parameter goOn: called for each piece that was read; throws when the merge is cancelled.
  /// - Throws: ``CutError`` `.badSource` if a byte of the bundle is another than when it was cut.
  func verify(_ shard: Int, _ goOn: () throws -> Void) throws {
    guard let file = receipts[shard].bundle else { return }
    guard try ShardReceipt.File(folder.bundle(shard), onBytes: { _ in try goOn() }) == file else {
      throw damaged(folder.bundle(shard), shard)
    }
  }

  func close(_ shard: Int) { open[shard] = nil }

  /// The pixels of a shard's root; nil where no level above needs them.
  func rootPixels(_ shard: Int, _ matrix: TileMatrix) throws -> PixelBuffer? {
    guard let file = receipts[shard].rootPixels else { return nil }
    let path = folder.rootPixels(shard)
    let pixels = PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
    let bytes = try FileSystem.bytes(of: path, countMax: pixels.byteCount)
    guard bytes.count == pixels.byteCount, Hexadecimal.text(SHA256Hash.digest(of: bytes)) == file.sha256 else {
      throw damaged(path, shard)
    }
    bytes.withUnsafeBytes { pixels.bytes.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    return pixels
  }

  private func damaged(_ file: String, _ shard: Int) -> CutError {
    CutError(
      .badSource, path: file, "is damaged",
      remedy: "remove it, and cut it again", repair: .cutShard(shard, plan: path))
  }
}

/// The order in which an undivided cut stores its tiles.
private struct CutOrder {
  private let plan: CutPlan
  private let topZoom: Int
  /// Of tiles above the subtrees, the children that are not there yet.
  private var missing: [TileID: Int] = [:]

  init(_ plan: CutPlan, topZoom: Int) { (self.plan, self.topZoom) = (plan, topZoom) }

  /// The candidate tiles of the next subtree of the ``SubtreeSequence``, children before their parents, and those above
  /// it that it completes, up to the top zoom.
  mutating func tiles(completedBy subtree: TileID) -> [TileID] {
    var tiles: [TileID] = []
    add(subtree, to: &tiles)
    var tile = subtree
    while tile.zoom > topZoom, let parent = plan.matrixSet.parent(of: tile) {
      let left = (missing.removeValue(forKey: parent) ?? plan.candidates(under: parent).count) - 1
      guard left == 0 else {
        missing[parent] = left
        break
      }
      if parent.zoom <= plan.zooms.upperBound { tiles.append(parent) }
      tile = parent
    }
    return tiles
  }

  private func add(_ tile: TileID, to tiles: inout [TileID]) {
    if tile.zoom < plan.workingZoom {
      for child in plan.candidates(under: tile) { add(child, to: &tiles) }
    }
    if tile.zoom <= plan.zooms.upperBound { tiles.append(tile) }
  }
}
