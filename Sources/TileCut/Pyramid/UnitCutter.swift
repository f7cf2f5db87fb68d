import TileImage
import TileIndex

/// A tile ready for the bundle.
struct EncodedTile: Sendable {
  let id: TileID
  let bytes: [UInt8]
}

/// What one unit of work gives.
struct CutUnit: Sendable {
  /// The root of the subtree.
  let root: TileID
  /// The subtree's tiles that have a visible pixel, parents after their children.
  var tiles: [EncodedTile] = []
  /// The root's pixels; nil when nothing is visible in the subtree.
  var rootPixels: PixelBuffer?
  /// Candidate tiles of the stored zooms that were done, empty ones included.
  var tilesDone = 0
  /// The pixels of the working zoom that are visible.
  var extent: VisibleExtent?
}

/// Cuts one unit after the other: draws the tiles of the working zoom, reduces them to their parents while they are in memory, encodes each tile once.
/// One per worker thread.
final class UnitCutter {
  private let plan: CutPlan
  private let mosaic: Mosaic
  private let encoder: TileEncoder
  private let reduction: Reduction
  private let isCancelled: () -> Bool
  private let pool: BufferPool

  init(plan: CutPlan, mosaic: Mosaic, isCancelled: @escaping () -> Bool) {
    self.plan = plan
    self.mosaic = mosaic
    encoder = TileEncoder(plan.encoding)
    reduction = plan.reduction
    self.isCancelled = isCancelled
    pool = BufferPool(plan.matrixSet[plan.workingZoom])
  }

  func cut(_ root: TileID) throws -> CutUnit {
    var unit = CutUnit(root: root)
    unit.rootPixels = try pixels(of: root, &unit)
    return unit
  }

  /// Draws or assembles a tile, and encodes it when its zoom is stored.
  private func pixels(of tile: TileID, _ unit: inout CutUnit) throws -> PixelBuffer? {
    if isCancelled() { throw CutError(.cancelled, "cancelled") }
    let pixels: PixelBuffer?
    if tile.zoom == plan.workingZoom {
      pixels = try draw(tile, &unit)
    } else {
      let children = plan.candidates(under: tile)
      var parent = ParentTile(id: tile, childCount: children.count)
      for child in children {
        let childPixels = try self.pixels(of: child, &unit)
        parent.add(childPixels, at: child, reduction: reduction, pool: pool)
        if let childPixels { pool.give(childPixels) }
      }
      pixels = parent.finish()
    }
    if tile.zoom <= plan.zooms.upperBound {
      unit.tilesDone += 1
      if let pixels { unit.tiles.append(EncodedTile(id: tile, bytes: try encoder.encode(pixels))) }
    }
    return pixels
  }

  private func draw(_ tile: TileID, _ unit: inout CutUnit) throws -> PixelBuffer? {
    let matrix = plan.matrixSet[tile.zoom]
    let rect = PixelRect(
      x: tile.column * matrix.tileWidth, y: tile.row * matrix.tileHeight, width: matrix.tileWidth,
      height: matrix.tileHeight)
    let buffer = pool.take()
    let drawn = try mosaic.draw(rect, into: buffer)
    let opacity = drawn ? buffer.opacity : .transparent
    guard opacity != .transparent else {
      pool.give(buffer)
      return nil
    }
    unit.extent = VisibleExtent.merged(unit.extent, with: buffer, at: rect, isOpaque: opacity == .opaque)
    return buffer
  }
}
