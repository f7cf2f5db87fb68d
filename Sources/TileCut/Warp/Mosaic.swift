package import TileImage
import TileIndex

/// Draws tiles of one zoom from one or more sources, later sources over earlier ones. One per worker thread and zoom at
/// which tiles are drawn.
///
/// 1. Draw each source that reaches the tile, over those before it, within its cutline.
/// 2. Where several sources meet and the tile is not opaque, close the gaps between them (``SeamFill``).
package final class Mosaic {
  private struct Layer {
    let source: any RasterSource
    let extent: BoundingBox
    /// In target pixels.
    let cutline: PixelArea?
    /// Created when the first tile needs it: of a thousand sources a worker may use few.
    var warper: Warper?
    /// Draws the source with one more pixel at its edges.
    var reachingWarper: Warper?
    /// By ``drawCount``.
    var lastUse = 0
  }
  /// Sources whose warpers are kept from tile to tile. A warper may take milliseconds to make, because PROJ does.
  static let warpersMax = 256
  /// Tiles drawn.
  private var drawCount = 0
  private(set) var warperCount = 0
  private var layers: [Layer]
  private let target: CoordinateReferenceSystem
  private let grid: PixelGrid
  private let resampling: Resampling
  private let clips: [PixelRect]?
  private let scratch: WarpScratch
  private var overlay: PixelBuffer?

  /// - Parameters:
  ///   - footprints: one for each source, in the same order.
  ///   - cutlines: in target pixels, one for each source; empty if no source has any.
  ///   - clips: rectangles of target pixels outside which nothing is drawn; nil draws everything.
  ///   - scratch: shared by the mosaics of a worker.
  package init(
    sources: [any RasterSource], footprints: [SourceFootprint], cutlines: [PixelArea?] = [],
    target: CoordinateReferenceSystem, grid: PixelGrid, resampling: Resampling, clips: [PixelRect]?,
    scratch: WarpScratch = WarpScratch()
  ) {
    self.scratch = scratch
    self.target = target
    self.grid = grid
    self.resampling = resampling
    self.clips = clips
    layers = sources.indices.map { i in
      Layer(source: sources[i], extent: footprints[i].reach, cutline: i < cutlines.count ? cutlines[i] : nil)
    }
  }

  /// Draws a rectangle of target pixels into a transparent buffer of its size.
  ///
  /// - Returns: false if nothing was drawn.
  package func draw(_ rect: PixelRect, into buffer: PixelBuffer) throws -> Bool {
    let low = grid.crs(SIMD2(Double(rect.x), Double(rect.y + rect.height)))
    let high = grid.crs(SIMD2(Double(rect.x + rect.width), Double(rect.y)))
    let box = BoundingBox(west: low.x, south: low.y, east: high.x, north: high.y)
    let near = layers.indices.filter { layers[$0].extent.intersection(box) != nil }
    drawCount += 1
    defer { dropWarpers() }
    if near.count == 1, layers[near[0]].cutline == nil {
      return try warp(warper(near[0]), rect, into: buffer)
    }
    var drawn = false
    var seams = SeamFill(pixelCount: rect.width * rect.height)
    for index in near {
      let layer = drawn ? cleared(rect) : buffer
      let isDrawn = try draw(index, rect, into: layer)
      if layers[index].cutline == nil { seams.note(layer, of: index) }
      guard isDrawn else { continue }
      if drawn { Overlay.draw(layer, over: buffer) }
      drawn = true
    }
    if drawn, seams.mayHaveGaps, buffer.opacity != .opaque {
      for index in seams.layers {
        let layer = PixelBuffer(width: rect.width, height: rect.height)
        if try warp(reachingWarper(index), rect, into: layer) { seams.add(layer, of: index) }
      }
      try seams.fill(buffer, rect) { try outward($0, $1) }
    }
    return drawn
  }

  /// The vectors from the inside of a source, a pixel from its edges, to target points, in target pixels.
  private func outward(_ index: Int, _ points: [SIMD2<Double>]) throws -> [SIMD2<Double>] {
    let mapper = try warper(index).mapper
    let size = SIMD2(Double(layers[index].source.width), Double(layers[index].source.height))
    let inset = pointwiseMin(SIMD2(1, 1), size / 2)
    var places = points
    places.withUnsafeMutableBufferPointer { mapper.toSource($0) }
    let inside = places.map { pointwiseMin(pointwiseMax($0, inset), size - inset) }
    var nearest = inside
    nearest.withUnsafeMutableBufferPointer { mapper.toTarget($0) }
    return points.indices.map { places[$0] == inside[$0] ? .zero : points[$0] - nearest[$0] }
  }

  /// Draws one source within its cutline.
  private func draw(_ index: Int, _ rect: PixelRect, into buffer: PixelBuffer) throws -> Bool {
    guard let cutline = layers[index].cutline else { return try warp(warper(index), rect, into: buffer) }
    guard cutline.mayTouch(rect), try warp(warper(index), rect, into: buffer) else { return false }
    var row = rect.y
    var end = rect.x
    func clear(_ from: Int, _ to: Int) {
      let start = (row - rect.y) * buffer.rowBytes + (from - rect.x) * 4
      (buffer.bytes + start).initializeMemory(as: UInt8.self, repeating: 0, count: (to - from) * 4)
    }
    cutline.forEachRun(in: rect) { line, columns in
      while row < line {
        clear(end, rect.x + rect.width)
        (row, end) = (row + 1, rect.x)
      }
      clear(end, columns.lowerBound)
      end = columns.upperBound
    }
    while row < rect.y + rect.height {
      clear(end, rect.x + rect.width)
      (row, end) = (row + 1, rect.x)
    }
    return true
  }

  private func cleared(_ rect: PixelRect) -> PixelBuffer {
    let buffer = overlay ?? PixelBuffer(width: rect.width, height: rect.height)
    buffer.clear()
    overlay = buffer
    return buffer
  }

  private func warper(_ index: Int) throws -> Warper {
    layers[index].lastUse = drawCount
    if let warper = layers[index].warper { return warper }
    let warper = try Warper(
      source: layers[index].source, target: target, grid: grid, resampling: resampling, scratch: scratch)
    layers[index].warper = warper
    warperCount += 1
    return warper
  }

  /// Drops the half of the warpers that were not used for longest, if there are too many. Those of the last tile stay.
  private func dropWarpers() {
    guard warperCount > Self.warpersMax else { return }
    let unused = layers.indices.filter { layers[$0].warper != nil && layers[$0].lastUse < drawCount }
    for index in unused.sorted(by: { layers[$0].lastUse < layers[$1].lastUse }).prefix(warperCount / 2) {
      (layers[index].warper, layers[index].reachingWarper) = (nil, nil)
      warperCount -= 1
    }
  }

  private func reachingWarper(_ index: Int) throws -> Warper {
    if let warper = layers[index].reachingWarper { return warper }
    let warper = try Warper(
      source: ExtendedRaster(layers[index].source), target: target, grid: grid, resampling: resampling, reach: 1,
      scratch: scratch)
    layers[index].reachingWarper = warper
    return warper
  }

  private func warp(_ warper: Warper, _ rect: PixelRect, into buffer: PixelBuffer) throws -> Bool {
    guard let clips else { return try warper.warp(rect, into: buffer) }
    var drawn = false
    for clip in clips { drawn = try warper.warp(rect, clip: clip, into: buffer) || drawn }
    return drawn
  }
}
