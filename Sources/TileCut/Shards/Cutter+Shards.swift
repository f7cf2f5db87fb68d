import Support
import TileImage
import TileIndex

/// Cutting the shards of a plan.
///
/// A shard's subtrees are cut in the order of the ``SubtreeSequence``, and the levels up to its root are built from
/// them. Its bundle has its tiles and the places that lie in it; the pixels of its root are kept for the merge.
extension Cutter {
  /// Cuts one shard, and writes its receipt when its files are on the disk.
  ///
  /// Any number of processes and machines may cut the same shard at the same time.
  ///
  /// - Parameters:
  ///   - index: the shard.
  ///   - path: the plan's file.
  /// - Returns: the receipt, also of a shard that was done already.
  /// - Throws: ``CutError``, ``BundleError``.
  package func cut(
    shard index: Int, of shards: ShardPlan, path: String, cancellation: CutCancellation = CutCancellation(),
    onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> ShardReceipt {
    let folder = ShardFolder(ofPlan: path, shards)
    if let done = folder.receipt(index) { return done }
    try shards.check(self, path: path)
    remote?.stop { cancellation.isCancelled }
    return try cancellation.run { try make(index, of: shards, folder, onProgress) }
  }

  private func make(
    _ index: Int, of shards: ShardPlan, _ folder: ShardFolder, _ onProgress: ((CutProgress) -> Void)?
  ) throws -> ShardReceipt {
    do {
      let attempt = try ShardAttempt(folder, index)
      defer { attempt.remove() }
      let receipt = try cut(index, of: shards, attempt, onProgress)
      try attempt.publish(receipt)
      return receipt
    } catch {
      // Another attempt that was faster removes the files of this one.
      if let done = folder.receipt(index) { return done }
      throw OutputFile.failure(error, folder.bundle(index))
    }
  }

  private func cut(
    _ index: Int, of shards: ShardPlan, _ attempt: ShardAttempt, _ onProgress: ((CutProgress) -> Void)?
  ) throws -> ShardReceipt {
    let start = ContinuousClock.now
    let root = shards.shards[index].root
    let sink = try BundleFile.create(
      attempt.bundle, matrixSet: options.matrixSet, format: plan.encoding.format, replacing: false,
      mixing: plan.encoding.mixing)
    defer { sink.discard() }
    var pixels: PixelBuffer?
    var content = TileDigest()
    let top = max(root.zoom, plan.zooms.lowerBound)
    let assembler = PyramidAssembler(plan: plan, topZoom: top, makeDrawer: makeSubtreeCutter) { tile, bytes in
      content.add(tile, bytes)
      try sink.put(tile, bytes)
    } onTop: {
      pixels = $0
    }
    let total = tileCount(under: root)
    try assemble(assembler, subtrees.under(root, in: plan.matrixSet)) {
      onProgress?(
        CutProgress(
          tilesDone: assembler.tilesDone, tilesTotal: total, tilesStored: sink.tileCount,
          bytesStored: assembler.bytesStored, seconds: (ContinuousClock.now - start) / .seconds(1)))
    }
    let tiles = sink.tileCount
    if assembler.extent != nil { _ = try finish(sink, assembler) }
    if root.zoom <= plan.zooms.lowerBound { pixels = nil }
    if let pixels {
      try FileSystem.writeNew(
        UnsafeRawBufferPointer(start: pixels.bytes, count: pixels.byteCount), to: attempt.rootPixels)
    }
    return ShardReceipt(
      plan: shards.digest, shard: index, tiles: tiles, tileBytes: assembler.bytesStored,
      content: content.text, tilesDone: assembler.tilesDone,
      extent: assembler.extent.map { [$0.left, $0.top, $0.right, $0.bottom] } ?? [],
      bundle: assembler.extent == nil ? nil : try ShardReceipt.File(attempt.bundle),
      rootPixels: pixels == nil ? nil : try ShardReceipt.File(attempt.rootPixels))
  }

  /// Candidate tiles of the stored zooms from a tile on.
  private func tileCount(under root: TileID) -> Int {
    var range: TileRange? = TileRange(zoom: root.zoom, columns: root.column...root.column, rows: root.row...root.row)
    var count = 0
    while let tiles = range, tiles.zoom <= plan.zooms.upperBound {
      count += plan.coverages[tiles.zoom]?.tiles(in: tiles).count ?? 0
      range = plan.matrixSet.children(of: tiles)
    }
    return count
  }
}
