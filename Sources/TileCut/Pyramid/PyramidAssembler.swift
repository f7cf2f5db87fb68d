import TileImage
import TileIndex

/// Accepts finished subtrees, stores their tiles and builds the levels above them. Not thread-safe: one thread at a
/// time calls it, in the order of ``SubtreeSequence``.
final class PyramidAssembler {
  private let plan: CutPlan
  private let writer: any TileSink
  private let encoder: TileEncoder
  private let pool: BufferPool
  private var waiting: [TileID: ParentTile] = [:]
  private(set) var tilesDone = 0
  private(set) var bytesStored = 0
  /// Of the stored tiles.
  private(set) var formats: Set<TileFormat> = []
  private(set) var extent: VisibleExtent?

  init(plan: CutPlan, writer: any TileSink) {
    self.plan = plan
    self.writer = writer
    encoder = TileEncoder(plan.encoding)
    pool = BufferPool(plan.matrixSet[plan.workingZoom])
  }

  func accept(_ subtree: CutSubtree) throws {
    for tile in subtree.tiles { try store(tile) }
    tilesDone += subtree.tilesDone
    if let part = subtree.extent { extent = extent?.union(part) ?? part }
    try addToParent(subtree.rootPixels, of: subtree.root)
  }

  /// Adds a finished tile to its parent. If it was the last child, stores the parent and continues with its parent.
  private func addToParent(_ pixels: PixelBuffer?, of tile: TileID) throws {
    var (pixels, tile) = (pixels, tile)
    while tile.zoom > plan.zooms.lowerBound, let parentID = plan.matrixSet.parent(of: tile) {
      var parent =
        waiting.removeValue(forKey: parentID)
        ?? ParentTile(id: parentID, childCount: plan.candidates(under: parentID).count)
      parent.add(pixels, at: tile, reduction: plan.reduction, pool: pool)
      if let pixels { pool.give(pixels) }
      guard parent.missing == 0 else {
        waiting[parentID] = parent
        return
      }
      pixels = parent.finish()
      tile = parentID
      guard tile.zoom <= plan.zooms.upperBound else { continue }
      tilesDone += 1
      if let pixels { try store(EncodedTile(id: tile, bytes: try encoder.encode(pixels))) }
    }
  }

  private func store(_ tile: EncodedTile) throws {
    try writer.put(tile.id, tile.bytes)
    bytesStored += tile.bytes.count
    if !writer.mixing.isEmpty, let format = tile.bytes.withUnsafeBytes({ TileFormat(sniffing: $0) }) {
      formats.insert(format)
    }
  }
}
