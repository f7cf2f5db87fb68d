package import TileImage
import TileIndex

/// Draws tiles of the working zoom from one or more sources, later sources over earlier ones. One per worker thread.
package final class Mosaic {
  private struct Layer {
    let source: any RasterSource
    let extent: BoundingBox
    /// Created when the first tile needs it: of a thousand sources a worker may use few.
    var warper: Warper?
  }
  private var layers: [Layer]
  private let target: CoordinateReferenceSystem
  private let grid: PixelGrid
  private let resampling: Resampling
  private let clips: [PixelRect]?
  private let scratch = WarpScratch()
  private var overlay: PixelBuffer?

  /// - Parameters:
  ///   - footprints: one for each source, in the same order.
  ///   - clips: rectangles of target pixels outside which nothing is drawn; nil draws everything.
  package init(
    sources: [any RasterSource], footprints: [SourceFootprint], target: CoordinateReferenceSystem, grid: PixelGrid,
    resampling: Resampling, clips: [PixelRect]?
  ) {
    self.target = target
    self.grid = grid
    self.resampling = resampling
    self.clips = clips
    layers = zip(sources, footprints).map { Layer(source: $0, extent: $1.reach) }
  }

  /// Draws a rectangle of target pixels into a transparent buffer of its size.
  ///
  /// - Returns: false if nothing was drawn.
  package func draw(_ rect: PixelRect, into buffer: PixelBuffer) throws -> Bool {
    let low = grid.crs(SIMD2(Double(rect.x), Double(rect.y + rect.height)))
    let high = grid.crs(SIMD2(Double(rect.x + rect.width), Double(rect.y)))
    let box = BoundingBox(west: low.x, south: low.y, east: high.x, north: high.y)
    var drawn = false
    for index in layers.indices where layers[index].extent.intersection(box) != nil {
      let warper = try warper(index)
      if !drawn {
        drawn = try warp(warper, rect, into: buffer)
      } else {
        let top = overlay ?? PixelBuffer(width: rect.width, height: rect.height)
        top.clear()
        overlay = top
        if try warp(warper, rect, into: top) { Overlay.draw(top, over: buffer) }
      }
    }
    return drawn
  }

  private func warper(_ index: Int) throws -> Warper {
    if let warper = layers[index].warper { return warper }
    let warper = try Warper(
      source: layers[index].source, target: target, grid: grid, resampling: resampling, scratch: scratch)
    layers[index].warper = warper
    return warper
  }

  private func warp(_ warper: Warper, _ rect: PixelRect, into buffer: PixelBuffer) throws -> Bool {
    guard let clips else { return try warper.warp(rect, into: buffer) }
    var drawn = false
    for clip in clips { drawn = try warper.warp(rect, clip: clip, into: buffer) || drawn }
    return drawn
  }
}
