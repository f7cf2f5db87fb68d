import MapDrawing
import TileImage
import TileIndex

/// Accepts finished subtrees, stores their tiles and builds the levels above them. Not thread-safe: one thread at a
/// time calls it, in the order of ``SubtreeSequence``.
final class PyramidAssembler {
  private let plan: CutPlan
  private let topZoom: Int
  private let isMixed: Bool
  private let makeDrawer: () throws -> SubtreeCutter
  /// Draws tiles above the subtrees, where sources are enlarged by more than a subtree has levels.
  private var drawer: SubtreeCutter?
  private let put: (TileID, [UInt8]) throws -> Void
  private let onTop: (PixelBuffer?) -> Void
  private let encoder: TileEncoder
  private let pool: BufferPool
  private let painter: TilePainter?
  private var waiting: [TileID: ParentTile]
  private var subtreeCount: Int
  private var isWhole = true
  private(set) var tilesDone: Int
  private(set) var bytesStored: Int
  /// Of the stored tiles, where the bundle may have several.
  var formats: Set<TileFormat>
  private(set) var extent: VisibleExtent?

  /// - Parameters:
  ///   - topZoom: the coarsest level that is built; nil for the coarsest of the plan.
  ///   - state: where an earlier assembler of the same plan stopped.
  ///   - makeDrawer: called at most once, when a tile is drawn that lies above the subtrees.
  ///   - put: gets the tiles to be stored.
  ///   - onTop: gets the pixels of each finished tile of `topZoom`, nil for one without a visible pixel. They are valid
  ///     until the next call of ``accept(_:)``.
  init(
    plan: CutPlan, topZoom: Int? = nil, from state: PyramidState = PyramidState(),
    makeDrawer: @escaping () throws -> SubtreeCutter,
    put: @escaping (TileID, [UInt8]) throws -> Void, onTop: @escaping (PixelBuffer?) -> Void = { _ in }
  ) {
    self.plan = plan
    self.topZoom = topZoom ?? plan.zooms.lowerBound
    isMixed = !plan.encoding.mixing.isEmpty
    (self.makeDrawer, self.put, self.onTop) = (makeDrawer, put, onTop)
    encoder = TileEncoder(plan.encoding)
    painter = plan.makePainter()
    pool = BufferPool(plan.matrixSet[plan.workingZoom])
    waiting = Dictionary(uniqueKeysWithValues: state.waiting.map { ($0.id, $0) })
    (subtreeCount, tilesDone) = (state.subtreeCount, state.tilesDone)
    (bytesStored, formats, extent) = (state.bytesStored, state.formats, state.extent)
  }

  /// The tiles that miss some of their children.
  var waitingCount: Int { waiting.count }

  /// What the rest of the cut depends on. Its pixels are valid until the next call of ``accept(_:)``. Nil after a
  /// subtree that could not be stored.
  var state: PyramidState? {
    guard isWhole else { return nil }
    return PyramidState(
      subtreeCount: subtreeCount, tilesDone: tilesDone, bytesStored: bytesStored, formats: formats,
      extent: extent, waiting: Array(waiting.values))
  }

  func accept(_ subtree: CutSubtree) throws {
    isWhole = false
    try store(subtree.tiles)
    tilesDone += subtree.tilesDone
    if let part = subtree.extent { extent = extent?.union(part) ?? part }
    try addToParent(subtree.rootPixels, of: subtree.root)
    subtreeCount += 1
    isWhole = true
  }

  /// Adds a finished tile to its parent. If it was the last child, stores the parent and continues with its parent.
  private func addToParent(_ pixels: PixelBuffer?, of tile: TileID) throws {
    var (pixels, tile) = (pixels, tile)
    while tile.zoom > topZoom, let parentID = plan.matrixSet.parent(of: tile) {
      var parent =
        waiting.removeValue(forKey: parentID)
        ?? ParentTile(id: parentID, childCount: plan.candidates(under: parentID).count)
      parent.add(pixels, at: tile, reduction: plan.reduction, pool: pool)
      if let pixels { pool.give(pixels) }
      guard parent.missing == 0 else {
        waiting[parentID] = parent
        return
      }
      pixels = plan.isDrawn(parentID) ? try drawn(parent) : parent.finish()
      tile = parentID
      guard tile.zoom <= plan.zooms.upperBound else { continue }
      tilesDone += 1
      let painted = try painter.map { try $0.drawn(over: pixels, tile) } ?? pixels
      if let painted { try store([EncodedTile(id: tile, bytes: try encoder.encode(painted))]) }
    }
    onTop(pixels)
  }

  private func drawn(_ parent: ParentTile) throws -> PixelBuffer? {
    let drawer = try self.drawer ?? makeDrawer()
    self.drawer = drawer
    return try drawer.finish(parent)
  }

  /// Puts tiles that are finished, and whose parents are made of other ones.
  func store(_ tiles: [EncodedTile]) throws {
    for tile in tiles {
      try put(tile.id, tile.bytes)
      bytesStored += tile.bytes.count
      if isMixed, let format = tile.bytes.withUnsafeBytes({ TileFormat(sniffing: $0) }) { formats.insert(format) }
    }
  }
}

/// How far the assembly of a pyramid has come.
struct PyramidState {
  /// Accepted subtrees, the first ones of the ``SubtreeSequence``.
  var subtreeCount = 0
  var tilesDone = 0
  var bytesStored = 0
  /// Of the stored tiles, where the bundle may have several.
  var formats: Set<TileFormat> = []
  var extent: VisibleExtent?
  /// Tiles that miss some of their children.
  var waiting: [ParentTile] = []
}
