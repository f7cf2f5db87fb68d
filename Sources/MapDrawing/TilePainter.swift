package import TileImage
package import TileIndex

/// Draws a ``VectorMap`` over the pictures of tiles. One per worker thread.
package final class TilePainter {
  private let map: VectorMap
  private let insideOnly: Bool
  private var canvas: CairoCanvas?
  private var result: PixelBuffer?

  /// - Parameter insideOnly: draws on visible pixels alone, for maps that are clipped.
  package init(_ map: VectorMap, insideOnly: Bool) {
    (self.map, self.insideOnly) = (map, insideOnly)
  }

  /// A tile's picture with the map drawn over it; the picture itself where there is nothing to draw.
  ///
  /// - Parameter picture: nil for a transparent one. It is not changed.
  /// - Returns: nil if nothing is visible; else pixels that are valid until the next call.
  package func painted(_ picture: PixelBuffer?, _ tile: TileID) throws -> PixelBuffer? {
    if picture == nil, insideOnly { return nil }
    let matrix = map.matrixSet[tile.zoom]
    let canvas = try canvas(matrix.tileWidth, matrix.tileHeight)
    let size = SIMD2(Double(matrix.tileWidth), Double(matrix.tileHeight))
    let corner = SIMD2(Double(tile.column), Double(tile.row)) * size
    let box = PixelBox(low: corner, high: corner + size)
    // Shapes that reach beyond the antimeridian are seen on the other side, too.
    let turn = map.matrixSet.turn(zoom: tile.zoom)
    var batch = LineBatch(canvas)
    try map.drawing(zoom: tile.zoom).forEachItem(near: tile) { item in
      let isOver = turn > 0 && (item.low.x < item.reach || item.high.x > turn - item.reach)
      for number in 0..<(isOver ? 3 : 1) {
        let offset = number == 0 ? 0 : number == 1 ? turn : -turn
        let seen = box.moved(by: SIMD2(offset, 0)).expanded(by: item.reach)
        guard seen.meets(item.low, item.high) else { continue }
        draw(item, in: seen, origin: corner + SIMD2(offset, 0), &batch)
      }
    }
    batch.flush()
    try canvas.check()
    guard canvas.isTouched else { return picture }
    let target = cleared(matrix.tileWidth, matrix.tileHeight)
    if let picture { target.copy(from: picture) }
    canvas.draw(over: target, insideOnly: insideOnly)
    canvas.clear()
    return picture == nil && target.opacity == .transparent ? nil : target
  }

  private func draw(_ item: ZoomDrawing.Item, in box: PixelBox, origin: SIMD2<Double>, _ batch: inout LineBatch) {
    switch item.style {
    case .line(let pen):
      for shape in item.shapes { batch.add(shape, pen, in: box, origin: origin) }
    case .area(let ink, let outline):
      batch.flush()
      if let ink {
        for shape in item.shapes {
          let ring = shape.reduced(to: box)
          guard ring.count > 2 else { continue }
          batch.canvas.move(to: ring[0] - origin)
          for point in ring.dropFirst() { batch.canvas.line(to: point - origin) }
          batch.canvas.close()
        }
        batch.canvas.fill(ink)
      }
      if let outline {
        for shape in item.shapes { batch.add(shape, outline, in: box, origin: origin) }
      }
    case .circle(let radius, let ink, let stroke):
      batch.flush()
      for shape in item.shapes {
        if let stroke {
          // The stroke lies outside of the radius.
          batch.canvas.circle(shape.points[0] - origin, radius: radius + stroke.width / 2)
          batch.canvas.stroke(stroke)
        }
        batch.canvas.circle(shape.points[0] - origin, radius: radius)
        batch.canvas.fill(ink)
      }
    case .label(let label):
      batch.flush()
      for picture in label.pictures {
        batch.canvas.draw(
          picture.picture, at: picture.place - origin, across: picture.across, opacity: picture.opacity)
      }
      for glyphs in label.glyphs {
        batch.canvas.draw(glyphs.outlines, at: -origin, glyphs.ink, halo: glyphs.halo)
      }
    }
  }

  private func canvas(_ width: Int, _ height: Int) throws -> CairoCanvas {
    if let canvas, canvas.width == width, canvas.height == height { return canvas }
    let made = try CairoCanvas(width: width, height: height)
    canvas = made
    return made
  }

  private func cleared(_ width: Int, _ height: Int) -> PixelBuffer {
    guard let result, result.width == width, result.height == height else {
      let made = PixelBuffer(width: width, height: height)
      result = made
      return made
    }
    result.clear()
    return result
  }
}

/// Lines that follow each other with one pen are drawn together, so that translucent ones do not darken where they
/// meet.
private struct LineBatch {
  let canvas: CairoCanvas
  private var pen: Pen?
  private var pointCount = 0

  /// Cairo takes about a hundred bytes for each point of a path. No tile that can be read has as many.
  private static let pointsMax = 1 << 15

  init(_ canvas: CairoCanvas) { self.canvas = canvas }

  mutating func add(_ shape: LineShape, _ pen: Pen, in box: PixelBox, origin: SIMD2<Double>) {
    if self.pen != pen { flush() }
    let points = shape.points
    let isClosed = shape.isClosed
    for run in shape.runs(near: box) {
      self.pen = pen
      guard pen.dashes.isEmpty else {
        // Dashes go on along a line, and a ring's begin and end at its first point.
        for dash in shape.dashes(pen.dashes, in: run, hasCaps: pen.cap != .butt) { draw(dash[...], origin) }
        continue
      }
      if isClosed, run == points.indices {
        draw(points.dropLast(), origin)
        canvas.close()
        continue
      }
      // The ends of a ring are joined in every tile, like its other points.
      if isClosed, run.lowerBound == 0 { draw([points[points.count - 2], points[0], points[1]], origin) }
      if isClosed, run.upperBound == points.count { draw([points[points.count - 2], points[0], points[1]], origin) }
      draw(points[run], origin)
    }
    if pointCount > Self.pointsMax { flush() }
  }

  private mutating func draw(_ points: ArraySlice<SIMD2<Double>>, _ origin: SIMD2<Double>) {
    guard let first = points.first else { return }
    pointCount += points.count
    canvas.move(to: first - origin)
    for point in points.dropFirst() { canvas.line(to: point - origin) }
  }

  mutating func flush() {
    if let pen { canvas.stroke(pen) }
    (pen, pointCount) = (nil, 0)
  }
}
