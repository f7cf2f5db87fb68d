import TileImage

extension Warper {
  /// Warps through a grid of exact points; also the way of every source that has holes.
  func warpGeneral(_ target: TargetPiece, grid: TransformGrid) throws -> Bool {
    guard let box = grid.sourceBox else { return false }
    let shapes = kernels(scale: grid.scale)
    let window = windowRect(box, shapes)
    guard window.width > 0, window.height > 0 else { return false }
    let rect = target.rect
    if window.width * window.height > Self.windowPixelsMax, rect.width > 1 || rect.height > 1 {
      return try warpHalves(target)
    }
    try self.window.read(window, of: source)
    if resampling != .nearest { self.window.premultiply() }
    let count = rect.width
    scratch.reserve(coordinates: 2 * count)
    let xs = scratch.coordinates
    let ys = scratch.coordinates + count
    for row in 0..<rect.height {
      grid.row(row, x: xs, y: ys)
      if resampling == .nearest {
        pickRow(target, row: row, x: xs, y: ys)
      } else {
        weighRow(target, row: row, x: xs, y: ys, shapes)
      }
    }
    return true
  }

  private func warpHalves(_ target: TargetPiece) throws -> Bool {
    let rect = target.rect
    var drawn = false
    let parts =
      rect.width >= rect.height
      ? [
        target.part(column: 0, row: 0, width: rect.width / 2, height: rect.height),
        target.part(column: rect.width / 2, row: 0, width: rect.width - rect.width / 2, height: rect.height),
      ]
      : [
        target.part(column: 0, row: 0, width: rect.width, height: rect.height / 2),
        target.part(column: 0, row: rect.height / 2, width: rect.width, height: rect.height - rect.height / 2),
      ]
    for part in parts {
      drawn = try warp(part.rect, into: part.buffer, x: part.x, y: part.y) || drawn
    }
    return drawn
  }

  func kernels(scale: SIMD2<Double>) -> (x: KernelShape, y: KernelShape) {
    (KernelShape(resampling, scale: scale.x), KernelShape(resampling, scale: scale.y))
  }

  /// The source pixels that the kernels reach from a box of positions, cut off at the source's edges; empty when the box lies outside.
  func windowRect(
    _ box: (low: SIMD2<Double>, high: SIMD2<Double>), _ shapes: (x: KernelShape, y: KernelShape)
  ) -> PixelRect {
    func span(_ low: Double, _ high: Double, _ radius: Double, _ limit: Int) -> (start: Int, count: Int) {
      let reach = radius + 1
      let start = max((low - reach).rounded(.down), 0)
      let end = min((high + reach).rounded(.up), Double(limit))
      guard start < end else { return (0, 0) }
      return (Int(start), Int(end) - Int(start))
    }
    let x = span(box.low.x, box.high.x, shapes.x.radius, source.width)
    let y = span(box.low.y, box.high.y, shapes.y.radius, source.height)
    return PixelRect(x: x.start, y: y.start, width: x.count, height: y.count)
  }

  private func pickRow(
    _ target: TargetPiece, row: Int, x xs: UnsafeMutablePointer<Double>, y ys: UnsafeMutablePointer<Double>
  ) {
    let rect = window.rect
    let out = target.pointer(column: 0, row: row)
    let (width, height) = (Double(source.width), Double(source.height))
    for i in 0..<target.rect.width {
      let (x, y) = (xs[i], ys[i])
      guard x >= 0, y >= 0, x < width, y < height else { continue }
      let offset = ((Int(y) &- rect.y) &* rect.width &+ Int(x) &- rect.x) &* 4
      out.storeBytes(of: window.bytes.load(fromByteOffset: offset, as: UInt32.self), toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// Weighs one row of target pixels at given source positions.
  ///
  /// A mask's pixels are there or not as the nearest source pixel is, and their colour comes from the pixels that are there; an alpha band is weighed like a colour.
  func weighRow(
    _ target: TargetPiece, row: Int, x xs: UnsafeMutablePointer<Double>, y ys: UnsafeMutablePointer<Double>,
    _ shapes: (x: KernelShape, y: KernelShape)
  ) {
    let out = target.pointer(column: 0, row: row)
    let (width, height) = (Double(source.width), Double(source.height))
    let isMask = source.alphaKind != .soft
    let isOpaque = window.isOpaque
    let plain = resampling == .bilinear && shapes.x.stretch == 1 && shapes.y.stretch == 1
    let edge = (
      x: KernelShape(.bilinear, scale: shapes.x.scale), y: KernelShape(.bilinear, scale: shapes.y.scale)
    )
    let tapsMax = max(shapes.x.tapCountMax, edge.x.tapCountMax)
    scratch.reserve(weights: tapsMax + max(shapes.y.tapCountMax, edge.y.tapCountMax))
    let weights = (x: scratch.weights, y: scratch.weights + tapsMax)
    for i in 0..<target.rect.width {
      let (x, y) = (xs[i], ys[i])
      guard x >= 0, y >= 0, x < width, y < height else { continue }
      if isMask, !isOpaque, window.alpha(x: Int(x), y: Int(y)) == 0 { continue }
      var sum = SIMD4<Float>.zero
      if plain {
        sum = bilinear(x, y)
      } else {
        let run = weigh(x, y, shapes, weights, into: &sum)
        // Where a lobe of the cubic kernel is missing, what is left would overshoot: bilinear there.
        if resampling == .cubic, run.clipped || (!isOpaque && run.hole) { _ = weigh(x, y, edge, weights, into: &sum) }
      }
      let pixel = isOpaque ? Straight.opaque(sum) : Straight.pixel(sum, isMask: isMask)
      out.storeBytes(of: pixel, toByteOffset: i &* 4, as: SIMD4<UInt8>.self)
    }
  }

  /// The four nearest pixels, or those of them that the source has.
  @inline(__always)
  private func bilinear(_ x: Double, _ y: Double) -> SIMD4<Float> {
    let rect = window.rect
    let left = (x - 0.5).rounded(.down)
    let top = (y - 0.5).rounded(.down)
    let fx = Float(x - 0.5 - left)
    let fy = Float(y - 0.5 - top)
    let x0 = max(Int(left), 0) &- rect.x
    let x1 = min(Int(left) &+ 1, source.width &- 1) &- rect.x
    let y0 = (max(Int(top), 0) &- rect.y) &* rect.width
    let y1 = (min(Int(top) &+ 1, source.height &- 1) &- rect.y) &* rect.width
    let p = window.pixels
    let upper = p[y0 &+ x0] * (1 - fx) + p[y0 &+ x1] * fx
    let lower = p[y1 &+ x0] * (1 - fx) + p[y1 &+ x1] * fx
    return upper * (1 - fy) + lower * fy
  }

  /// The weighted sum over the kernel's footprint; says whether the source's edge cut it off and whether a pixel in it is transparent.
  @inline(__always)
  private func weigh(
    _ x: Double, _ y: Double, _ shapes: (x: KernelShape, y: KernelShape),
    _ weights: (x: UnsafeMutablePointer<Float>, y: UnsafeMutablePointer<Float>), into sum: inout SIMD4<Float>
  ) -> (clipped: Bool, hole: Bool) {
    let rect = window.rect
    let across = shapes.x.weights(at: x, count: source.width, into: weights.x)
    let down = shapes.y.weights(at: y, count: source.height, into: weights.y)
    sum = .zero
    var alphaMin: Float = 1
    for j in 0..<down.taps {
      let line = window.pixels + ((down.first &+ j &- rect.y) &* rect.width &+ across.first &- rect.x)
      var part = SIMD4<Float>.zero
      for k in 0..<across.taps {
        part += line[k] * weights.x[k]
        alphaMin = min(alphaMin, line[k].w)
      }
      sum += part * weights.y[j]
    }
    return (across.clipped || down.clipped, alphaMin == 0)
  }
}
