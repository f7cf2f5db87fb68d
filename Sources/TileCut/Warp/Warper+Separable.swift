import TileImage

extension Warper {
  /// Warps where source x depends on the column alone and source y on the row alone, as between longitude/latitude and Mercator.
  func warpSeparable(_ target: TargetPiece, columns: ArraySlice<Double>, rows: ArraySlice<Double>) throws -> Bool {
    // What falls outside the source is cut off first: what is left is a rectangle again.
    guard let columnSpan = Self.span(of: columns, limit: source.width),
      let rowSpan = Self.span(of: rows, limit: source.height)
    else { return false }
    let piece = target.part(
      column: columnSpan.lowerBound - columns.startIndex, row: rowSpan.lowerBound - rows.startIndex,
      width: columnSpan.count, height: rowSpan.count)
    let xs = columns[columnSpan]
    let ys = rows[rowSpan]
    let shapes = kernels(scale: SIMD2(Self.meanStep(xs), Self.meanStep(ys)))
    let box = (
      low: SIMD2(xs.min()!, ys.min()!), high: SIMD2(xs.max()!, ys.max()!)
    )
    let window = windowRect(box, shapes)
    if window.width * window.height > Self.windowPixelsMax, xs.count > 1 || ys.count > 1 {
      if ys.count >= xs.count {
        let middle = ys.startIndex + ys.count / 2
        let top = try warpSeparable(
          piece.part(column: 0, row: 0, width: xs.count, height: ys.count / 2), columns: xs, rows: ys[..<middle])
        let bottom = try warpSeparable(
          piece.part(column: 0, row: ys.count / 2, width: xs.count, height: ys.count - ys.count / 2), columns: xs,
          rows: ys[middle...])
        return top || bottom
      }
      let middle = xs.startIndex + xs.count / 2
      let left = try warpSeparable(
        piece.part(column: 0, row: 0, width: xs.count / 2, height: ys.count), columns: xs[..<middle], rows: ys)
      let right = try warpSeparable(
        piece.part(column: xs.count / 2, row: 0, width: xs.count - xs.count / 2, height: ys.count),
        columns: xs[middle...], rows: ys)
      return left || right
    }
    try self.window.read(window, of: source)
    if resampling == .nearest {
      pickNearest(piece, xs, ys)
      return true
    }
    self.window.premultiply()
    if self.window.isOpaque {
      weighOpaque(piece, xs, ys, shapes)
      return true
    }
    let count = piece.rect.width
    scratch.reserve(coordinates: 2 * count)
    let coordinates = scratch.coordinates
    for (i, x) in xs.enumerated() { coordinates[i] = x }
    for (row, y) in ys.enumerated() {
      for i in 0..<count { coordinates[count + i] = y }
      weighRow(piece, row: row, x: coordinates, y: coordinates + count, shapes)
    }
    return true
  }

  /// The indices whose values lie inside the source. The vectors are monotonic, so they form one run.
  private static func span(of values: ArraySlice<Double>, limit: Int) -> Range<Int>? {
    func isInside(_ v: Double) -> Bool { v >= 0 && v < Double(limit) }
    guard let first = values.firstIndex(where: isInside), let last = values.lastIndex(where: isInside) else { return nil }
    return first..<(last + 1)
  }

  private static func meanStep(_ values: ArraySlice<Double>) -> Double {
    guard values.count > 1 else { return 1 }
    return abs(values.last! - values.first!) / Double(values.count - 1)
  }

  private func pickNearest(_ piece: TargetPiece, _ xs: ArraySlice<Double>, _ ys: ArraySlice<Double>) {
    let rect = window.rect
    let offsets = xs.map { (Int($0) - rect.x) * 4 }
    for (row, y) in ys.enumerated() {
      let line = UnsafeRawPointer(window.bytes) + (Int(y) - rect.y) * rect.width * 4
      let out = piece.pointer(column: 0, row: row)
      for i in 0..<offsets.count {
        let pixel = line.loadUnaligned(fromByteOffset: offsets[i], as: UInt32.self)
        out.storeBytes(of: pixel, toByteOffset: i &* 4, as: UInt32.self)
      }
    }
  }

  /// Weighs a window without holes: first down the columns into one row, then along it.
  private func weighOpaque(
    _ piece: TargetPiece, _ xs: ArraySlice<Double>, _ ys: ArraySlice<Double>, _ shapes: (x: KernelShape, y: KernelShape)
  ) {
    let rect = window.rect
    let tapsMax = shapes.x.tapCountMax
    scratch.reserve(row: rect.width)
    scratch.reserve(weights: tapsMax * xs.count + shapes.y.tapCountMax)
    let row = scratch.row
    let columnWeights = scratch.weights
    let rowWeights = scratch.weights + tapsMax * xs.count
    let edge = (
      x: KernelShape(.bilinear, scale: shapes.x.scale), y: KernelShape(.bilinear, scale: shapes.y.scale)
    )
    withUnsafeTemporaryAllocation(of: (first: Int, taps: Int).self, capacity: xs.count) { runs in
      for (i, x) in xs.enumerated() {
        var run = shapes.x.weights(at: x, count: source.width, into: columnWeights + i * tapsMax)
        // A cubic kernel that lost a lobe at the edge would overshoot: bilinear there.
        if run.clipped, resampling == .cubic {
          run = edge.x.weights(at: x, count: source.width, into: columnWeights + i * tapsMax)
        }
        runs[i] = (run.first - rect.x, run.taps)
      }
      for (j, y) in ys.enumerated() {
        var run = shapes.y.weights(at: y, count: source.height, into: rowWeights)
        if run.clipped, resampling == .cubic {
          run = edge.y.weights(at: y, count: source.height, into: rowWeights)
        }
        sumRows(first: run.first - rect.y, taps: run.taps, rowWeights, into: row)
        let out = piece.pointer(column: 0, row: j)
        for i in 0..<xs.count {
          let weights = columnWeights + i &* tapsMax
          let start = row + runs[i].first
          var sum = SIMD4<Float>.zero
          for k in 0..<runs[i].taps { sum += start[k] * weights[k] }
          out.storeBytes(of: Straight.opaque(sum), toByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        }
      }
    }
  }

  /// row[x] = the weighted sum of the window's pixels above each other in column x.
  private func sumRows(
    first: Int, taps: Int, _ weights: UnsafeMutablePointer<Float>, into row: UnsafeMutablePointer<SIMD4<Float>>
  ) {
    let width = window.rect.width
    let start = window.pixels + first * width
    if taps == 2 {
      let (w0, w1) = (weights[0], weights[1])
      let below = start + width
      for x in 0..<width { row[x] = start[x] * w0 + below[x] * w1 }
      return
    }
    let w0 = weights[0]
    for x in 0..<width { row[x] = start[x] * w0 }
    for k in 1..<max(taps, 1) {
      let line = start + k * width
      let w = weights[k]
      for x in 0..<width { row[x] += line[x] * w }
    }
  }
}
