/// Resamples a part of an image at another size, bilinearly: the tiles beyond a map's deepest zoom.
///
/// Pixel centres of both images lie at halves, so that neighbouring results join without a seam. Outside the image its
/// outermost pixels count. Colours are weighted by alpha. Weights have steps of 1/256, intermediates have at least 15
/// bits, and the result is rounded to the nearest once, so that a uniform image does not change.
package enum Enlarge {
  /// One cell of a regular grid: cell `index` of `count` equal ones along an axis.
  package struct Cell: Hashable, Sendable {
    package var index: Int
    package var count: Int

    package init(index: Int, count: Int) {
      self.index = index
      self.count = count
    }

    /// The whole axis.
    package static let whole = Cell(index: 0, count: 1)
  }

  /// Resamples the source's part in the given column and row of a regular grid to the whole target.
  ///
  /// - Precondition: neither image is empty, the cells exist.
  /// - Complexity: O(target pixels); 256 x 256 pixels from 128 x 128 take about 0.15 ms if all are opaque, 0.5 ms
  ///   otherwise. For enlarging only: where the target is smaller than the part, pixels are skipped, not averaged.
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

/// The sampling positions along one axis of the target.
struct SampleAxis {
  /// One per pixel of the target.
  private(set) var samples: [Sample] = []

  struct Sample {
    /// The pixels before and after the position; the same one at the edges.
    var first: Int32
    var second: Int32
    /// The second pixel's weight in 1/256.
    var weight: UInt16
  }

  init(_ cell: Enlarge.Cell, sourceCount: Int, targetCount: Int) {
    precondition(cell.count > 0 && (0..<cell.count).contains(cell.index), "a cell that does not exist")
    samples.reserveCapacity(targetCount)
    // The target pixels of the whole grid, and the first of this cell.
    let all = Double(cell.count) * Double(targetCount)
    let start = Double(cell.index) * Double(targetCount)
    for pixel in 0..<targetCount {
      let place = (start + Double(pixel) + 0.5) * Double(sourceCount) / all - 0.5
      // Rounded to 1/256 first, so that 0.9999 becomes the next pixel and not this one with a weight of 256.
      let steps = Int((place * 256).rounded())
      let first = steps >> 8
      samples.append(
        Sample(
          first: Int32(min(max(first, 0), sourceCount - 1)), second: Int32(min(max(first + 1, 0), sourceCount - 1)),
          weight: UInt16(steps & 255)))
    }
  }
}

// Both kernels are separable: a source row is stretched to the target's width once and kept while target rows need it.
// Each target row mixes two stretched rows in one plain loop over channels.

extension Enlarge {
  /// Without alpha: stretched channels are in units of 1/128, at most 255 * 128.
  static func drawOpaque(_ source: PixelBuffer, columns: SampleAxis, rows: SampleAxis, into target: PixelBuffer) {
    let channels = target.width * 4
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 2 * channels) { scratch in
      var stretched = StretchedRows(scratch.baseAddress!, scratch.baseAddress! + channels)
      for (y, sample) in rows.samples.enumerated() {
        let (upper, lower) = stretched.rows(Int(sample.first), Int(sample.second)) { row, output in
          stretchOpaque(source.bytes + row * source.rowBytes, columns, into: output)
        }
        mixOpaque(upper, lower, sample.weight, into: target.bytes + y * target.rowBytes, count: channels)
      }
    }
  }

  /// With alpha: colours are multiplied by it (16 bits), stretched (24 bits) and mixed (32 bits) without rounding.
  static func drawMixed(_ source: PixelBuffer, columns: SampleAxis, rows: SampleAxis, into target: PixelBuffer) {
    let channels = target.width * 4
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * channels) { scratch in
      var stretched = StretchedRows(scratch.baseAddress!, scratch.baseAddress! + channels)
      for (y, sample) in rows.samples.enumerated() {
        let (upper, lower) = stretched.rows(Int(sample.first), Int(sample.second)) { row, output in
          stretchMixed(source.bytes + row * source.rowBytes, columns, into: output)
        }
        mixMixed(upper, lower, sample.weight, into: target.bytes + y * target.rowBytes, count: target.width)
      }
    }
  }

  private static func stretchOpaque(
    _ source: UnsafeRawPointer, _ columns: SampleAxis, into output: UnsafeMutablePointer<UInt16>
  ) {
    let output = UnsafeMutableRawPointer(output)
    columns.samples.withUnsafeBufferPointer { samples in
      for i in 0..<samples.count {
        let sample = samples[i]
        let mix = pixel(source, sample.first) &* (256 &- sample.weight) &+ pixel(source, sample.second) &* sample.weight
        output.storeBytes(of: (mix &+ 1) &>> 1, toByteOffset: i &* 8, as: SIMD4<UInt16>.self)
      }
    }
  }

  /// The masks change nothing, but show the compiler that all factors are below 2^15: baseline x86-64 multiplies such
  /// numbers eight at a time, general 32-bit ones only two at a time.
  private static func mixOpaque(
    _ upper: UnsafePointer<UInt16>, _ lower: UnsafePointer<UInt16>, _ weight: UInt16,
    into output: UnsafeMutableRawPointer, count: Int
  ) {
    let output = output.assumingMemoryBound(to: UInt8.self)
    let weight = UInt32(weight) & 0xff
    let rest = (256 &- weight) & 0x1ff
    for i in 0..<count {
      let mix = UInt32(upper[i] & 0x7fff) &* rest &+ UInt32(lower[i] & 0x7fff) &* weight &+ 0x4000
      output[i] = UInt8(truncatingIfNeeded: mix &>> 15)
    }
  }

  private static func stretchMixed(
    _ source: UnsafeRawPointer, _ columns: SampleAxis, into output: UnsafeMutablePointer<UInt32>
  ) {
    let output = UnsafeMutableRawPointer(output)
    columns.samples.withUnsafeBufferPointer { samples in
      for i in 0..<samples.count {
        let sample = samples[i]
        let a = premultiplied(pixel(source, sample.first))
        let b = premultiplied(pixel(source, sample.second))
        let mix = product(a, 256 &- sample.weight) &+ product(b, sample.weight)
        output.storeBytes(of: mix, toByteOffset: i &* 16, as: SIMD4<UInt32>.self)
      }
    }
  }

  private static func mixMixed(
    _ upper: UnsafePointer<UInt32>, _ lower: UnsafePointer<UInt32>, _ weight: UInt16,
    into output: UnsafeMutableRawPointer, count: Int
  ) {
    let upper = UnsafeRawPointer(upper)
    let lower = UnsafeRawPointer(lower)
    let weight = UInt32(weight)
    for i in 0..<count {
      let a = upper.loadUnaligned(fromByteOffset: i &* 16, as: SIMD4<UInt32>.self)
      let b = lower.loadUnaligned(fromByteOffset: i &* 16, as: SIMD4<UInt32>.self)
      let mix = a &* (256 &- weight) &+ b &* weight
      // Alpha is in units of 1/65536 here, colours are that times 255: below 2^32.
      let alpha = (mix.w &+ 0x8000) &>> 16
      var result: UInt32 = 0
      if mix.w == 0xff_0000 {
        // Most pixels are opaque: divisions by constants are compiled to multiplications.
        let red = (UInt64(mix.x) &+ 0x7f_8000) / 0xff_0000
        let green = (UInt64(mix.y) &+ 0x7f_8000) / 0xff_0000
        let blue = (UInt64(mix.z) &+ 0x7f_8000) / 0xff_0000
        result = UInt32(truncatingIfNeeded: red | green &<< 8 | blue &<< 16) | 0xff00_0000
      } else if alpha > 0 {
        // One division per pixel instead of three; doubles represent every operand exactly.
        let unit = 1 / Double(mix.w)
        let red = rounded(Double(mix.x) * unit)
        let green = rounded(Double(mix.y) * unit)
        let blue = rounded(Double(mix.z) * unit)
        result = red | green &<< 8 | blue &<< 16 | alpha &<< 24
      }
      output.storeBytes(of: result, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// The nearest integer of a small non-negative number. Added to 2^52 it has no fractional bits left and is in the
  /// lowest bits; Swift's conversion would check the range each time.
  @inline(__always)
  private static func rounded(_ number: Double) -> UInt32 {
    UInt32(truncatingIfNeeded: (number + 0x1p52).bitPattern)
  }

  @inline(__always)
  private static func pixel(_ row: UnsafeRawPointer, _ index: Int32) -> SIMD4<UInt16> {
    SIMD4<UInt16>(truncatingIfNeeded: row.loadUnaligned(fromByteOffset: Int(index) &* 4, as: SIMD4<UInt8>.self))
  }

  @inline(__always)
  private static func premultiplied(_ pixel: SIMD4<UInt16>) -> SIMD4<UInt16> {
    pixel &* SIMD4(pixel.w, pixel.w, pixel.w, 1)
  }

  @inline(__always)
  private static func product(_ pixel: SIMD4<UInt16>, _ weight: UInt16) -> SIMD4<UInt32> {
    SIMD4<UInt32>(truncatingIfNeeded: pixel) &* SIMD4<UInt32>(truncatingIfNeeded: SIMD4<UInt16>(repeating: weight))
  }
}

/// The two stretched rows around the present target row. Rows are requested in order.
private struct StretchedRows<Channel> {
  private var first: UnsafeMutablePointer<Channel>
  private var second: UnsafeMutablePointer<Channel>
  private var firstRow = -1
  private var secondRow = -1

  init(_ first: UnsafeMutablePointer<Channel>, _ second: UnsafeMutablePointer<Channel>) {
    (self.first, self.second) = (first, second)
  }

  @inline(__always)
  mutating func rows(
    _ upper: Int, _ lower: Int, stretch: (Int, UnsafeMutablePointer<Channel>) -> Void
  ) -> (UnsafePointer<Channel>, UnsafePointer<Channel>) {
    if upper != firstRow, upper == secondRow {
      swap(&first, &second)
      swap(&firstRow, &secondRow)
    }
    if upper != firstRow {
      stretch(upper, first)
      firstRow = upper
    }
    if lower == upper { return (UnsafePointer(first), UnsafePointer(first)) }
    if lower != secondRow {
      stretch(lower, second)
      secondRow = lower
    }
    return (UnsafePointer(first), UnsafePointer(second))
  }
}
