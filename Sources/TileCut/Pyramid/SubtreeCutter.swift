import MapDrawing
import Support
import TileImage
import TileIndex

/// Cuts one subtree of the pyramid after the other: draws the tiles from the base zoom to the working zoom (and those
/// at which an area ends before it), reduces them to their parents while they are in memory, and encodes each tile
/// once. One per worker thread.
final class SubtreeCutter {
  private let plan: CutPlan
  private let makeMosaic: (Int) throws -> Mosaic
  /// By the zoom at which they draw.
  private var mosaics: [Int: Mosaic] = [:]
  private let encoder: TileEncoder
  private let reduction: Reduction
  private let pool: BufferPool
  private let clipShares: [Int: ClipShares]
  private let painter: TilePainter?

  /// - Parameter makeMosaic: makes the sources' mosaic at a zoom.
  init(plan: CutPlan, makeMosaic: @escaping (Int) throws -> Mosaic) {
    self.plan = plan
    self.makeMosaic = makeMosaic
    encoder = TileEncoder(plan.encoding)
    reduction = plan.reduction
    pool = BufferPool(plan.matrixSet[plan.workingZoom])
    painter = plan.makePainter()
    clipShares = Dictionary(
      uniqueKeysWithValues: plan.masks.map { ($0, ClipShares($1, matrix: plan.matrixSet[$0])) })
  }

  func cut(_ root: TileID) throws -> CutSubtree {
    var subtree = CutSubtree(root: root)
    subtree.rootPixels = try pixels(of: root, &subtree)
    return subtree
  }

  /// Draws or reduces a tile, and encodes it if its zoom is stored.
  private func pixels(of tile: TileID, _ subtree: inout CutSubtree) throws -> PixelBuffer? {
    try Cancellation.check()
    let pixels: PixelBuffer?
    if plan.isLeaf(tile) {
      pixels = try draw(tile)
      if let pixels { note(pixels, at: tile, &subtree.extent) }
    } else {
      let children = plan.candidates(under: tile)
      var parent = ParentTile(id: tile, childCount: children.count)
      for child in children {
        let childPixels = try self.pixels(of: child, &subtree)
        parent.add(childPixels, at: child, reduction: reduction, pool: pool)
        if let childPixels { pool.give(childPixels) }
      }
      pixels = try finish(parent)
    }
    if tile.zoom <= plan.zooms.upperBound {
      subtree.tilesDone += 1
      // Parents are made of the picture alone: lines are drawn anew at each zoom.
      let painted = try painter.map { try $0.drawn(over: pixels, tile) } ?? pixels
      if let painted { subtree.tiles.append(EncodedTile(id: tile, bytes: try encoder.encode(painted))) }
    }
    return pixels
  }

  /// The pixels of a tile with children: drawn, from the base zoom on, else those that the children made. Where
  /// drawing shows nothing of a sliver that the children show, theirs count too, so that every tile has its ancestors.
  func finish(_ parent: ParentTile) throws -> PixelBuffer? {
    var parent = parent
    let reduced = parent.finish()
    guard plan.isDrawn(parent.id), let drawn = try draw(parent.id) else { return reduced }
    if let reduced { pool.give(reduced) }
    return drawn
  }

  /// Draws a tile from the sources; nil if nothing of it is visible.
  private func draw(_ tile: TileID) throws -> PixelBuffer? {
    let rect = rect(of: tile)
    let clipShares = clipShares[tile.zoom]
    let cover = clipShares?.measure(tile, rect) ?? .everything
    if cover == .nothing { return nil }
    let buffer = pool.take()
    guard try mosaic(tile.zoom).draw(rect, into: buffer) else {
      pool.give(untouched: buffer)
      return nil
    }
    if cover == .part { clipShares?.apply(to: buffer) }
    guard buffer.opacity != .transparent else {
      pool.give(buffer)
      return nil
    }
    return buffer
  }

  private func rect(of tile: TileID) -> PixelRect {
    let matrix = plan.matrixSet[tile.zoom]
    return PixelRect(
      x: tile.column * matrix.tileWidth, y: tile.row * matrix.tileHeight, width: matrix.tileWidth,
      height: matrix.tileHeight)
  }

  /// Extends an extent by a tile's visible pixels, which are looked at only where they may say something new.
  private func note(_ pixels: PixelBuffer, at tile: TileID, _ extent: inout VisibleExtent?) {
    let rect = rect(of: tile)
    let whole = plan.atWorkingZoom(VisibleExtent(rect), from: tile.zoom)
    if let known = extent, known.union(whole) == known { return }
    if pixels.opacity == .opaque {
      extent = extent?.union(whole) ?? whole
    } else if let visible = VisibleExtent(visibleIn: pixels, at: rect) {
      let part = plan.atWorkingZoom(visible, from: tile.zoom)
      extent = extent?.union(part) ?? part
    }
  }

  private func mosaic(_ zoom: Int) throws -> Mosaic {
    if let mosaic = mosaics[zoom] { return mosaic }
    let mosaic = try makeMosaic(zoom)
    mosaics[zoom] = mosaic
    return mosaic
  }
}

/// The result of cutting one subtree.
struct CutSubtree: Sendable {
  /// The subtree's root.
  let root: TileID
  /// The subtree's tiles with a visible pixel, parents after their children.
  var tiles: [EncodedTile] = []
  /// The root's pixels; nil if the subtree has no visible pixel.
  var rootPixels: PixelBuffer?
  /// Candidate tiles of the stored zooms that were processed, including empty ones.
  var tilesDone = 0
  /// The visible pixels of the working zoom.
  var extent: VisibleExtent?
}

/// A tile ready to be stored.
struct EncodedTile: Sendable {
  let id: TileID
  let bytes: [UInt8]
}

/// The bounding box of all visible pixels, in pixels of the working zoom.
struct VisibleExtent: Sendable, Equatable {
  var left: Int
  var top: Int
  /// One past the last column; `bottom` likewise for rows.
  var right: Int
  var bottom: Int

  func union(_ other: VisibleExtent) -> VisibleExtent {
    VisibleExtent(
      left: min(left, other.left), top: min(top, other.top), right: max(right, other.right),
      bottom: max(bottom, other.bottom))
  }
}

extension VisibleExtent {
  /// A rectangle that is visible as a whole.
  init(_ rect: PixelRect) {
    self.init(left: rect.x, top: rect.y, right: rect.x + rect.width, bottom: rect.y + rect.height)
  }

  /// The visible pixels of a buffer that lies at a rectangle; nil for none.
  init?(visibleIn buffer: PixelBuffer, at rect: PixelRect) {
    var (left, right, top, bottom) = (Int.max, -1, -1, -1)
    for y in 0..<buffer.height {
      let row = UnsafeRawPointer(buffer.bytes) + y * buffer.rowBytes
      func isVisible(_ x: Int) -> Bool { row.load(fromByteOffset: x * 4 + 3, as: UInt8.self) != 0 }
      guard let first = (0..<buffer.width).first(where: isVisible) else { continue }
      let last = (0..<buffer.width).last(where: isVisible)!
      if top < 0 { top = y }
      bottom = y
      left = min(left, first)
      right = max(right, last)
    }
    guard top >= 0 else { return nil }
    self.init(left: rect.x + left, top: rect.y + top, right: rect.x + right + 1, bottom: rect.y + bottom + 1)
  }
}
