/// Finds the colour that covers most of a target pixel's footprint in a window of the source.
///
/// The footprint is that of the average kernel. Transparent pixels do not vote; a target pixel is transparent if the
/// source pixel at its centre is. Of colours with equal votes the one at the centre wins, else the first.
final class ModeVoter {
  private let bytes: UnsafeRawPointer
  private let rect: PixelRect
  private let source: (width: Int, height: Int)
  private let weights: (x: UnsafeMutablePointer<Float>, y: UnsafeMutablePointer<Float>)
  private var colours: [UInt32] = []
  private var votes: [Float] = []

  /// - Parameter weights: memory for the most taps that any kernel has, for x and for y.
  init(
    _ window: SourceWindow, of source: any RasterSource,
    weights: (x: UnsafeMutablePointer<Float>, y: UnsafeMutablePointer<Float>)
  ) {
    bytes = UnsafeRawPointer(window.bytes)
    rect = window.rect
    self.source = (source.width, source.height)
    self.weights = weights
  }

  /// The RGBA word at a position inside the source, zero if the pixel there is transparent.
  func colour(_ x: Double, _ y: Double, _ across: KernelShape, _ down: KernelShape) -> UInt32 {
    let centre = word(Int(x) - rect.x, Int(y) - rect.y)
    if centre == 0 { return 0 }
    let columns = across.weights(at: x, count: source.width, into: weights.x)
    let rows = down.weights(at: y, count: source.height, into: weights.y)
    colours.removeAll(keepingCapacity: true)
    votes.removeAll(keepingCapacity: true)
    for j in 0..<rows.taps {
      for i in 0..<columns.taps {
        let colour = word(columns.first + i - rect.x, rows.first + j - rect.y)
        let vote = weights.x[i] * weights.y[j]
        if colour == 0 || vote <= 0 { continue }
        if let known = colours.firstIndex(of: colour) {
          votes[known] += vote
        } else {
          colours.append(colour)
          votes.append(vote)
        }
      }
    }
    var (winner, most): (UInt32, Float) = (centre, 0)
    for (colour, vote) in zip(colours, votes) {
      // Sums of the same weights in another order differ in the last digits.
      let isEqual = abs(vote - most) <= 1e-5
      if isEqual ? colour == centre : vote > most { (winner, most) = (colour, vote) }
    }
    return winner
  }

  private func word(_ column: Int, _ row: Int) -> UInt32 {
    bytes.load(fromByteOffset: (row &* rect.width &+ column) &* 4, as: UInt32.self)
  }
}

extension Warper {
  /// Votes on each pixel of a piece of a mapping by columns and rows.
  func vote(_ piece: SeparablePiece, _ widest: (x: KernelShape, y: KernelShape)) {
    scratch.reserve(weights: widest.x.tapCountMax + widest.y.tapCountMax)
    let voter = ModeVoter(window, of: source, weights: (scratch.weights, scratch.weights + widest.x.tapCountMax))
    let limit = (x: Double(source.width), y: Double(source.height))
    for row in piece.rows {
      let y = piece.y.positions[row]
      let down = KernelShape(resampling, scale: min(piece.y.scales[row], limit.y))
      let out = piece.pointer(row: row)
      for (i, column) in piece.columns.enumerated() {
        let across = KernelShape(resampling, scale: min(piece.x.scales[column], limit.x))
        let colour = voter.colour(piece.x.positions[column], y, across, down)
        if colour != 0 { out.storeBytes(of: colour, toByteOffset: i &* 4, as: UInt32.self) }
      }
    }
  }

  /// Votes on each pixel of a part of a tile whose mapping is a grid.
  func vote(
    _ part: PixelRect, of grid: TransformGrid, _ scales: TransformGrid.Scales,
    _ widest: (x: KernelShape, y: KernelShape), on canvas: Canvas
  ) {
    let count = part.width
    scratch.reserve(coordinates: 4 * count)
    let (xs, ys) = (scratch.coordinates, scratch.coordinates + count)
    let (scaleX, scaleY) = (scratch.coordinates + 2 * count, scratch.coordinates + 3 * count)
    scratch.reserve(weights: widest.x.tapCountMax + widest.y.tapCountMax)
    let voter = ModeVoter(window, of: source, weights: (scratch.weights, scratch.weights + widest.x.tapCountMax))
    let (width, height) = (Double(source.width), Double(source.height))
    for row in part.y..<(part.y + part.height) {
      grid.positions(row: row, from: part.x, count: count, into: xs, ys)
      scales.row(row, from: part.x, count: count, into: scaleX, scaleY)
      let out = canvas.pointer(x: part.x, y: row)
      for i in 0..<count {
        let (x, y) = (xs[i], ys[i])
        guard x >= 0, y >= 0, x < width, y < height else { continue }
        let colour = voter.colour(
          x, y, KernelShape(resampling, scale: scaleX[i]), KernelShape(resampling, scale: scaleY[i]))
        if colour != 0 { out.storeBytes(of: colour, toByteOffset: i &* 4, as: UInt32.self) }
      }
    }
  }
}
