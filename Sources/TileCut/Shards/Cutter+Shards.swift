import Support
import TileImage
public import TileIndex

/// Cutting the shards of a plan, and merging them.
///
/// 1. ``cut(shard:of:path:cancellation:onProgress:)`` cuts the subtrees under a shard's root in the order of the
///    ``SubtreeSequence``, builds the levels up to the root, and keeps the tiles in the order of a whole cut.
/// 2. ``merge(_:path:to:replacing:scheme:cancellation:onProgress:)`` goes through the whole sequence, takes each
///    subtree's tiles from its shard, and builds the levels above the roots.
///
/// So the bundle's writer sees the tiles of an undivided cut in the same order, and the bundle has the same bytes.
extension Cutter {
  /// Cuts one shard, and writes its receipt when its file is on the disk.
  ///
  /// - Parameters:
  ///   - index: the shard.
  ///   - path: the plan's file.
  /// - Returns: the receipt, also of a shard that was done already.
  /// - Throws: ``CutError``, ``BundleError``.
  public func cut(
    shard index: Int, of shards: ShardPlan, path: String, cancellation: CutCancellation = CutCancellation(),
    onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> ShardReceipt {
    let folder = ShardFolder(ofPlan: path, shards)
    if let done = folder.receipt(index) { return done }
    try shards.check(self, path: path)
    remote?.stop { cancellation.isCancelled }
    let start = ContinuousClock.now
    let root = shards.shards[index].root
    do {
      try FileSystem.makeFolders(folder.path)
      let file = try AtomicFile(target: folder.file(index))
      defer { file.remove() }
      let writer = try ShardWriter(file.path)
      var tiles: [EncodedTile] = []
      var ending = ShardFile.Ending(extent: nil, tilesDone: 0)
      let assembler = PyramidAssembler(plan: plan, topZoom: root.zoom) {
        tiles.append(EncodedTile(id: $0, bytes: $1))
      } onTop: {
        ending.rootPixels = $0
      }
      let total = tileCount(under: root)
      try assemble(assembler, subtrees.under(root, in: plan.matrixSet), cancellation) {
        try writer.add(tiles)
        tiles.removeAll(keepingCapacity: true)
        onProgress?(
          CutProgress(
            tilesDone: assembler.tilesDone, tilesTotal: total, tilesStored: writer.tileCount,
            bytesStored: writer.tileBytes, seconds: (ContinuousClock.now - start) / .seconds(1)))
      }
      (ending.extent, ending.tilesDone) = (assembler.extent, assembler.tilesDone)
      let whole = try writer.finish(ending)
      try file.publish(replacing: true)
      let receipt = ShardReceipt(
        plan: shards.digest, shard: index, tiles: writer.tileCount, tileBytes: writer.tileBytes,
        fileBytes: whole.bytes, sha256: whole.sha256)
      try AtomicFile.write(
        Array((JSONValue(encoding: receipt).indentedText + "\n").utf8), to: folder.receiptFile(index))
      return receipt
    } catch {
      throw OutputFile.failure(error, folder.file(index))
    }
  }

  /// Makes the bundle from all shards.
  ///
  /// - Parameter path: the plan's file.
  /// - Throws: ``CutError`` `.badSource` if a shard is missing or damaged; ``BundleError``.
  public func merge(
    _ shards: ShardPlan, path: String, to output: String, replacing: Bool = false, scheme: TileScheme = .xyz,
    cancellation: CutCancellation = CutCancellation(), onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> CutSummary {
    try shards.check(self, path: path)
    let start = ContinuousClock.now
    let folder = ShardFolder(ofPlan: path, shards)
    let receipts = shards.shards.indices.map { folder.receipt($0) }
    guard !receipts.contains(nil) else {
      throw CutError(
        .badSource, path: path, "the shards \(ShardFolder.text(folder.missing)) are not done",
        remedy: "cut them: tilecut cut --plan '\(path)' --shard N")
    }
    let numbers = Dictionary(uniqueKeysWithValues: shards.shards.enumerated().map { ($1.root, $0) })
    let sink = try BundleFile.create(
      output, matrixSet: options.matrixSet, format: plan.encoding.format, replacing: replacing, scheme: scheme,
      mixing: plan.encoding.mixing)
    do {
      let assembler = PyramidAssembler(plan: plan) { try sink.put($0, $1) }
      var open: [Int: ShardReader] = [:]
      for subtree in subtrees {
        if cancellation.isCancelled { throw CutError(.cancelled, "cancelled") }
        guard let root = plan.matrixSet.ancestor(of: subtree, zoom: shards.shardZoom), let number = numbers[root] else {
          throw CutError(
            .badSource, path: path, "has no shard for tile \(subtree)", remedy: "make a new plan: tilecut plan")
        }
        do {
          let reader = try open[number] ?? ShardReader(folder.file(number), sha256: receipts[number]!.sha256)
          open[number] = reader
          let tiles = try reader.subtree()
          guard reader.isAtEnd else {
            try assembler.store(tiles)
            continue
          }
          open[number] = nil
          let ending = try reader.ending(plan.matrixSet[plan.workingZoom])
          try assembler.accept(
            CutSubtree(
              root: root, tiles: tiles, rootPixels: ending.rootPixels, tilesDone: ending.tilesDone,
              extent: ending.extent))
        } catch is ShardReader.Damaged {
          throw CutError(
            .badSource, path: folder.file(number), "is damaged",
            remedy: "remove it, and cut it again: tilecut cut --plan '\(path)' --shard \(number)")
        }
        onProgress?(
          CutProgress(
            tilesDone: assembler.tilesDone, tilesTotal: plan.tileCountMax, tilesStored: sink.tileCount,
            bytesStored: assembler.bytesStored, seconds: (ContinuousClock.now - start) / .seconds(1)))
      }
      let (summary, warnings) = try finish(sink, assembler)
      return CutSummary(
        path: output, tileCount: summary.tiles, distinctTileCount: summary.distinctTiles, zoomMin: summary.minZoom,
        zoomMax: summary.maxZoom, fileBytes: summary.bytes, seconds: (ContinuousClock.now - start) / .seconds(1),
        warnings: warnings)
    } catch {
      sink.discard()
      throw OutputFile.failure(error, output)
    }
  }

  /// Candidate tiles of the stored zooms from a tile on.
  private func tileCount(under root: TileID) -> Int {
    var range: TileRange? = TileRange(zoom: root.zoom, columns: root.column...root.column, rows: root.row...root.row)
    var count = 0
    while let tiles = range, tiles.zoom <= plan.zooms.upperBound {
      count += plan.coverages[tiles.zoom]!.tiles(in: tiles).count
      range = plan.matrixSet.children(of: tiles)
    }
    return count
  }
}

extension SubtreeSequence {
  /// The roots under a tile, in their order.
  fileprivate func under(_ tile: TileID, in matrixSet: TileMatrixSet) -> AnyIterator<TileID> {
    let all = makeIterator()
    return AnyIterator {
      while let root = all.next() {
        if matrixSet.ancestor(of: root, zoom: tile.zoom) == tile { return root }
      }
      return nil
    }
  }
}

extension TileMatrixSet {
  /// The tile of a coarser zoom, or the same one, that contains a tile.
  fileprivate func ancestor(of tile: TileID, zoom: Int) -> TileID? {
    var found: TileID? = tile
    while let tile = found, tile.zoom > zoom { found = parent(of: tile) }
    return found
  }
}
