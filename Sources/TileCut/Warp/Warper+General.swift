import TileImage

extension Warper {
  /// Warps any mapping through a ``TransformGrid``: one for the rectangle, or one for each quarter of it if the mapping
  /// is too curved or the source window too large.
  func warpGeneral(_ rect: PixelRect, spacing: Int, on canvas: Canvas) throws -> Bool {
    guard let part = rect.intersection(canvas.clip) else { return false }
    let grid = TransformGrid(rect, spacing: spacing, mapper: mapper)
    let fit = grid.fit(sourceWidth: source.width, sourceHeight: source.height)
    guard fit != .outside, let box = grid.sourceBox else { return false }
    if fit == .coarse { return try warpQuarters(rect, spacing: spacing, on: canvas) }

    let limit = SIMD2(Double(source.width), Double(source.height))
    let scales = resampling == .nearest ? nil : grid.scales(limit: limit)
    let widest = scales.map { ($0.largest.x, $0.largest.y) } ?? (1, 1)
    let shapes = (x: KernelShape(resampling, scale: widest.0), y: KernelShape(resampling, scale: widest.1))
    let window = windowRect(low: box.low, high: box.high, radius: SIMD2(shapes.x.radius, shapes.y.radius))
    guard window.width > 0 else { return false }
    if isBetterDivided(window), rect.width > 1 || rect.height > 1 {
      return try warpQuarters(rect, spacing: spacing, on: canvas)
    }
    try self.window.read(window, of: source)
    guard !self.window.isTransparent else { return false }
    switch scales {
    case nil: pick(part, of: grid, on: canvas)
    case let scales? where resampling == .mode: vote(part, of: grid, scales, shapes, on: canvas)
    case let scales?: weigh(part, of: grid, scales, shapes, on: canvas)
    }
    return true
  }

  private func warpQuarters(_ rect: PixelRect, spacing: Int, on canvas: Canvas) throws -> Bool {
    let left = (rect.width + 1) / 2
    let top = (rect.height + 1) / 2
    var drawn = false
    for (y, height) in [(0, top), (top, rect.height - top)] where height > 0 {
      for (x, width) in [(0, left), (left, rect.width - left)] where width > 0 {
        let quarter = PixelRect(x: rect.x + x, y: rect.y + y, width: width, height: height)
        drawn = try warpGeneral(quarter, spacing: max(spacing / 2, 1), on: canvas) || drawn
      }
    }
    return drawn
  }

  private func pullIn(_ xs: UnsafeMutablePointer<Double>, _ ys: UnsafeMutablePointer<Double>, count: Int) {
    guard reach > 0 else { return }
    for i in 0..<count {
      xs[i] = EdgeReach.pull(xs[i], by: reach, limit: Double(source.width))
      ys[i] = EdgeReach.pull(ys[i], by: reach, limit: Double(source.height))
    }
  }

  private func pick(_ part: PixelRect, of grid: TransformGrid, on canvas: Canvas) {
    scratch.reserve(coordinates: 2 * part.width)
    let (xs, ys) = (scratch.coordinates, scratch.coordinates + part.width)
    let (width, height) = (Double(source.width), Double(source.height))
    let rect = window.rect
    let bytes = UnsafeRawPointer(window.bytes)
    for row in part.y..<(part.y + part.height) {
      grid.positions(row: row, from: part.x, count: part.width, into: xs, ys)
      pullIn(xs, ys, count: part.width)
      let out = canvas.pointer(x: part.x, y: row)
      for i in 0..<part.width {
        let (x, y) = (xs[i], ys[i])
        guard x >= 0, y >= 0, x < width, y < height else { continue }
        let offset = ((Int(y) &- rect.y) &* rect.width &+ Int(x) &- rect.x) &* 4
        out.storeBytes(of: bytes.load(fromByteOffset: offset, as: UInt32.self), toByteOffset: i &* 4, as: UInt32.self)
      }
    }
  }

  private func weigh(
    _ part: PixelRect, of grid: TransformGrid, _ scales: TransformGrid.Scales,
    _ widest: (x: KernelShape, y: KernelShape),
    on canvas: Canvas
  ) {
    window.premultiply()
    let count = part.width
    scratch.reserve(coordinates: 4 * count)
    let (xs, ys) = (scratch.coordinates, scratch.coordinates + count)
    let (scaleX, scaleY) = (scratch.coordinates + 2 * count, scratch.coordinates + 3 * count)
    scratch.reserve(weights: widest.x.tapCountMax + widest.y.tapCountMax)
    let weigher = PixelWeigher(
      window, of: source, resampling, weights: (scratch.weights, scratch.weights + widest.x.tapCountMax))
    let (width, height) = (Double(source.width), Double(source.height))
    let isPlain = resampling == .bilinear && widest.x.stretch == 1 && widest.y.stretch == 1
    let resampling = resampling
    for row in part.y..<(part.y + part.height) {
      grid.positions(row: row, from: part.x, count: count, into: xs, ys)
      pullIn(xs, ys, count: count)
      let out = canvas.pointer(x: part.x, y: row)
      if isPlain {
        for i in 0..<count {
          let (x, y) = (xs[i], ys[i])
          guard x >= 0, y >= 0, x < width, y < height, !weigher.isMasked(x, y) else { continue }
          out.storeBytes(of: weigher.straight(weigher.bilinear(x, y)), toByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        }
      } else {
        scales.row(row, from: part.x, count: count, into: scaleX, scaleY)
        for i in 0..<count {
          let (x, y) = (xs[i], ys[i])
          guard x >= 0, y >= 0, x < width, y < height, !weigher.isMasked(x, y) else { continue }
          let sum = weigher.sum(
            x, y, KernelShape(resampling, scale: scaleX[i]), KernelShape(resampling, scale: scaleY[i]))
          out.storeBytes(of: weigher.straight(sum), toByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        }
      }
    }
  }
}
