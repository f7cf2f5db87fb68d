import TileImage

extension Warper {
  /// Warps a mapping whose source x depends on the column alone and whose source y depends on the row alone, such as
  /// longitude and latitude to Mercator.
  func warpSeparable(_ canvas: Canvas, _ columns: AxisMap, _ rows: AxisMap) throws -> Bool {
    let (tile, clip) = (canvas.tile, canvas.clip)
    let across = columns.runs((clip.x - tile.x)..<(clip.x - tile.x + clip.width), limit: source.width)
    let down = rows.runs((clip.y - tile.y)..<(clip.y - tile.y + clip.height), limit: source.height)
    var drawn = false
    for rowRun in down {
      for columnRun in across {
        let piece = SeparablePiece(canvas: canvas, x: columns, y: rows, columns: columnRun, rows: rowRun)
        drawn = try warp(piece) || drawn
      }
    }
    return drawn
  }

  /// Draws a piece that lies entirely inside the source, in halves if its source window is too large. Returns false if
  /// the source is transparent there.
  private func warp(_ piece: SeparablePiece) throws -> Bool {
    let x = piece.x.positions[piece.columns]
    let y = piece.y.positions[piece.rows]
    let widest = (
      x: KernelShape(resampling, scale: min(piece.x.scales[piece.columns].max()!, Double(source.width))),
      y: KernelShape(resampling, scale: min(piece.y.scales[piece.rows].max()!, Double(source.height)))
    )
    let window = windowRect(
      low: SIMD2(x.min()!, y.min()!), high: SIMD2(x.max()!, y.max()!), radius: SIMD2(widest.x.radius, widest.y.radius))
    if isBetterDivided(window), x.count > 1 || y.count > 1 {
      var drawn = false
      for half in piece.halves { drawn = try warp(half) || drawn }
      return drawn
    }
    try self.window.read(window, of: source)
    guard !self.window.isTransparent else { return false }
    if resampling == .nearest {
      pick(piece)
    } else if resampling == .mode {
      vote(piece, widest)
    } else {
      self.window.premultiply()
      weigh(piece, widest)
    }
    return true
  }

  private func pick(_ piece: SeparablePiece) {
    let rect = window.rect
    let bytes = UnsafeRawPointer(window.bytes)
    let offsets = piece.x.positions[piece.columns].map { (Int($0) - rect.x) * 4 }
    for row in piece.rows {
      let line = bytes + (Int(piece.y.positions[row]) - rect.y) * rect.width * 4
      let out = piece.pointer(row: row)
      for i in 0..<offsets.count {
        let pixel = line.loadUnaligned(fromByteOffset: offsets[i], as: UInt32.self)
        out.storeBytes(of: pixel, toByteOffset: i &* 4, as: UInt32.self)
      }
    }
  }

  /// Resamples a window: for each target row, first the columns into one row of sums, then along that row.
  private func weigh(_ piece: SeparablePiece, _ widest: (x: KernelShape, y: KernelShape)) {
    let (rect, isOpaque, resampling) = (window.rect, window.isOpaque, resampling)
    let count = piece.columns.count
    let tapsMax = widest.x.tapCountMax
    let limit = (x: Double(source.width), y: Double(source.height))
    scratch.reserve(row: rect.width)
    scratch.reserve(weights: tapsMax * (count + 1) + 2 * widest.y.tapCountMax)
    let columnWeights = scratch.weights
    let rowWeights = columnWeights + tapsMax * count
    let weigher = PixelWeigher(
      window, of: source, resampling,
      weights: (rowWeights + widest.y.tapCountMax, rowWeights + widest.y.tapCountMax + tapsMax))
    let needsWhole = resampling.overshoots && !isOpaque
    withUnsafeTemporaryAllocation(of: SeparableColumn.self, capacity: count) { columns in
      for (i, column) in piece.columns.enumerated() {
        let x = piece.x.positions[column]
        let shape = KernelShape(resampling, scale: min(piece.x.scales[column], limit.x))
        let run = shape.weights(at: x, count: source.width, into: columnWeights + i * tapsMax)
        columns[i] = SeparableColumn(x: x, shape: shape, first: run.first - rect.x, taps: run.taps)
      }
      for row in piece.rows {
        let y = piece.y.positions[row]
        let shape = KernelShape(resampling, scale: min(piece.y.scales[row], limit.y))
        let run = shape.weights(at: y, count: source.height, into: rowWeights)
        let first = run.first - rect.y
        let sums = scratch.row
        sumRows(first: first, taps: run.taps, rowWeights, into: sums)
        let out = piece.pointer(row: row)
        for i in 0..<count {
          let weights = columnWeights + i &* tapsMax
          let column = columns[i]
          let start = sums + column.first
          var sum = SIMD4<Float>.zero
          for k in 0..<column.taps { sum += start[k] * weights[k] }
          if !isOpaque {
            if weigher.isMasked(column.x, y) { continue }
            if needsWhole, window.hasHole(x: column.first, y: first, width: column.taps, height: run.taps) {
              sum = weigher.besideHole(column.x, y, column.shape, shape)
            }
          }
          out.storeBytes(of: weigher.straight(sum), toByteOffset: i &* 4, as: SIMD4<UInt8>.self)
        }
      }
    }
  }

  /// row[x] = the weighted sum of the window's pixels in column x.
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

/// A part of a tile whose columns and rows lie inside the source without a jump.
struct SeparablePiece {
  let canvas: Canvas
  let x: AxisMap
  let y: AxisMap
  /// Columns of the tile, counted from its left edge.
  var columns: Range<Int>
  /// Rows of the tile, counted from its top.
  var rows: Range<Int>

  /// The canvas from the piece's first column on.
  func pointer(row: Int) -> UnsafeMutableRawPointer {
    canvas.pointer(x: canvas.tile.x + columns.lowerBound, y: canvas.tile.y + row)
  }

  /// The piece divided across its longer side.
  var halves: [SeparablePiece] {
    var (first, second) = (self, self)
    if rows.count >= columns.count {
      let middle = rows.lowerBound + rows.count / 2
      first.rows = rows.lowerBound..<middle
      second.rows = middle..<rows.upperBound
    } else {
      let middle = columns.lowerBound + columns.count / 2
      first.columns = columns.lowerBound..<middle
      second.columns = middle..<columns.upperBound
    }
    return [first, second]
  }
}

/// One target column of a separable piece: its centre in the source, and the pixels of the window under its kernel.
private struct SeparableColumn {
  let x: Double
  let shape: KernelShape
  let first: Int
  let taps: Int
}
