/// Draws a part of a picture at another size, bilinearly: what a map shows beyond its deepest zoom.
///
/// Pixel centres of both pictures lie at halves, as tiles have it: the parts of neighbouring results continue each other without a seam. Beyond the
/// picture's edge its outermost pixels count. Colours are weighted by alpha; weights go in steps of 1/256, intermediates have 15
/// bits or more, and the result is rounded to the nearest once, so that a uniform picture stays what it is.
package enum Enlarge {
  /// One tile of a regular cutting: cell `index` of `count` equal ones along an axis.
  package struct Cell: Hashable, Sendable {
    package var index: Int
    package var count: Int

    package init(index: Int, count: Int) {
      self.index = index
      self.count = count
    }

    /// All of it.
    package static let whole = Cell(index: 0, count: 1)
  }

  /// Draws the part of the source in the given column and row of a regular cutting over the whole target.
  ///
  /// - Precondition: neither picture is empty, the cells exist.
  /// - Complexity: O(target pixels); 256 x 256 pixels from 128 x 128 take about 0.15 ms where all are opaque, 0.5 ms otherwise. Meant for enlarging: where the
  ///   target is smaller than the part, pixels are skipped, not averaged.
  package static func draw(_ source: PixelBuffer, column: Cell = .whole, row: Cell = .whole, into target: PixelBuffer) {
    precondition(source.width > 0 && source.height > 0 && target.width > 0 && target.height > 0, "an empty picture")
    let columns = SampleAxis(column, sourceCount: source.width, targetCount: target.width)
    let rows = SampleAxis(row, sourceCount: source.height, targetCount: target.height)
    if source.opacity == .opaque {
      drawOpaque(source, columns: columns, rows: rows, into: target)
    } else {
      drawMixed(source, columns: columns, rows: rows, into: target)
    }
  }
}

/// Where the pixels of one axis of the target are read.
struct SampleAxis {
  /// One for each pixel of the target.
  private(set) var samples: [Sample] = []

  struct Sample {
    /// The pixel at or before the place, and the one after it; the same at the edges.
    var first: Int32
    var second: Int32
    /// The second one's share, in 1/256.
    var weight: UInt16
  }

  init(_ cell: Enlarge.Cell, sourceCount: Int, targetCount: Int) {
    precondition(cell.count > 0 && (0..<cell.count).contains(cell.index), "a cell that does not exist")
    samples.reserveCapacity(targetCount)
    // Target pixels of the whole cutting, and the first of this cell.
    let all = Double(cell.count) * Double(targetCount)
    let start = Double(cell.index) * Double(targetCount)
    for pixel in 0..<targetCount {
      let place = (start + Double(pixel) + 0.5) * Double(sourceCount) / all - 0.5
      // In 1/256 first, so that 0.9999 is the next pixel and not this one at weight 256.
      let steps = Int((place * 256).rounded())
      let first = steps >> 8
      samples.append(
        Sample(
          first: Int32(min(max(first, 0), sourceCount - 1)), second: Int32(min(max(first + 1, 0), sourceCount - 1)),
          weight: UInt16(steps & 255)))
    }
  }
}
