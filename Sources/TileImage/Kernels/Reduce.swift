/// Reduces a child tile to its part of the parent: one pixel for each block of `ratio` x `ratio` child pixels.
///
/// The ratio is the step between two levels of the tile matrix set: 2 in quad grids, 3 and 4 in some commercial grids.
package enum Reduce {
  /// The largest ratio: the sums of a block still fit the 16-bit lanes.
  package static let ratioMax = 16

  /// Averages the child into the parent, with its top left pixel at (x, y).
  ///
  /// Colours are averaged in sRGB values, weighted by alpha so that transparent pixels do not darken edges, and rounded
  /// to the nearest integer. Alpha is the mean, rounded to the nearest but never to 0 while any pixel of the block is
  /// visible, so that a region does not vanish at low zooms. If the child's size is no multiple of the ratio, the last
  /// blocks average the pixels that exist.
  ///
  /// - Precondition: the reduced child, its size divided by the ratio and rounded up, lies inside the parent.
  /// - Complexity: O(child pixels); ratio 2 takes about 0.6 ns per opaque result pixel.
  package static func average(_ child: PixelBuffer, ratio: Int, into parent: PixelBuffer, x: Int, y: Int) {
    let target = checkedTarget(child, ratio: ratio, in: parent, x: x, y: y)
    let columns = child.width / ratio
    for row in 0..<(child.height + ratio - 1) / ratio {
      let source = UnsafeRawPointer(child.bytes) + row * ratio * child.rowBytes
      let rows = min(ratio, child.height - row * ratio)
      let output = target + row * parent.rowBytes
      if ratio == 2 && rows == 2 {
        averagePairs(source, source + child.rowBytes, into: output, count: columns)
      } else {
        for column in 0..<columns {
          let pixel = averageBlock(source + column * ratio * 4, rowBytes: child.rowBytes, width: ratio, height: rows)
          output.storeBytes(of: pixel, toByteOffset: column &* 4, as: UInt32.self)
        }
      }
      let rest = child.width - columns * ratio
      if rest > 0 {
        let pixel = averageBlock(source + columns * ratio * 4, rowBytes: child.rowBytes, width: rest, height: rows)
        output.storeBytes(of: pixel, toByteOffset: columns &* 4, as: UInt32.self)
      }
    }
  }

  /// The address of the reduced child in the parent.
  static func checkedTarget(
    _ child: PixelBuffer, ratio: Int, in parent: PixelBuffer, x: Int, y: Int
  ) -> UnsafeMutableRawPointer {
    precondition((1...ratioMax).contains(ratio), "a ratio from 1 to \(ratioMax)")
    precondition(
      x >= 0 && y >= 0 && x + (child.width + ratio - 1) / ratio <= parent.width
        && y + (child.height + ratio - 1) / ratio <= parent.height, "the reduced child must lie inside the parent")
    return parent.bytes + y * parent.rowBytes + x * 4
  }

  /// Averages `count` adjacent blocks of 2 x 2 pixels of two rows.
  private static func averagePairs(
    _ upper: UnsafeRawPointer, _ lower: UnsafeRawPointer, into output: UnsafeMutableRawPointer, count: Int
  ) {
    let odd: UInt32 = 0x00ff_00ff
    // Two channels at a time in the 16-bit halves of a word: the sum of four pixels is at most 1020, so halves do not
    // overflow. Transparency is rare: the opaque result is computed for all, and the row is repeated if it was not
    // opaque.
    var every: UInt32 = .max
    for i in 0..<count {
      let a = upper.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let b = upper.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      let c = lower.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let d = lower.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      every &= a & b & c & d
      let redBlue = ((a & odd) &+ (b & odd) &+ (c & odd) &+ (d & odd) &+ 0x0002_0002) &>> 2 & odd
      let greenAlpha =
        ((a &>> 8 & odd) &+ (b &>> 8 & odd) &+ (c &>> 8 & odd) &+ (d &>> 8 & odd) &+ 0x0002_0002) &>> 2 & odd
      output.storeBytes(of: redBlue | greenAlpha &<< 8, toByteOffset: i &* 4, as: UInt32.self)
    }
    if every &>> 24 == 255 { return }
    for i in 0..<count {
      let a = upper.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let b = upper.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      let c = lower.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let d = lower.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      let alpha = a &>> 24 &+ b &>> 24 &+ c &>> 24 &+ d &>> 24
      if alpha == 1020 { continue }
      var pixel: UInt32 = 0
      if alpha > 0 {
        var sums = WeightedSums()
        sums.add(a)
        sums.add(b)
        sums.add(c)
        sums.add(d)
        pixel = sums.mean(count: 4)
      }
      output.storeBytes(of: pixel, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// The average of one block of any size up to `ratioMax` squared.
  private static func averageBlock(_ block: UnsafeRawPointer, rowBytes: Int, width: Int, height: Int) -> UInt32 {
    let odd: UInt32 = 0x00ff_00ff
    var every: UInt32 = .max
    var redBlue: UInt32 = 0
    var green: UInt32 = 0
    for row in 0..<height {
      let line = block + row &* rowBytes
      for column in 0..<width {
        let pixel = line.loadUnaligned(fromByteOffset: column &* 4, as: UInt32.self)
        every &= pixel
        redBlue &+= pixel & odd
        green &+= pixel &>> 8 & 255
      }
    }
    let count = UInt32(truncatingIfNeeded: width &* height)
    if every &>> 24 == 255 {
      let half = count / 2
      let r = ((redBlue & 0xffff) &+ half) / count
      let g = (green &+ half) / count
      let b = (redBlue &>> 16 &+ half) / count
      return r | g &<< 8 | b &<< 16 | 0xff00_0000
    }
    var sums = WeightedSums()
    for row in 0..<height {
      let line = block + row &* rowBytes
      for column in 0..<width {
        sums.add(line.loadUnaligned(fromByteOffset: column &* 4, as: UInt32.self))
      }
    }
    return sums.mean(count: count)
  }
}

/// Sums of alpha and of colours times alpha, for up to 256 pixels.
private struct WeightedSums {
  var red: UInt32 = 0
  var green: UInt32 = 0
  var blue: UInt32 = 0
  var alpha: UInt32 = 0

  @inline(__always)
  mutating func add(_ pixel: UInt32) {
    let a = pixel &>> 24
    red &+= (pixel & 255) &* a
    green &+= (pixel &>> 8 & 255) &* a
    blue &+= (pixel &>> 16 & 255) &* a
    alpha &+= a
  }

  @inline(__always)
  func mean(count: UInt32) -> UInt32 {
    if alpha == 0 { return 0 }
    let half = alpha &>> 1
    let r = (red &+ half) / alpha
    let g = (green &+ half) / alpha
    let b = (blue &+ half) / alpha
    let a = max((alpha &+ count &>> 1) / count, 1)
    return r | g &<< 8 | b &<< 16 | a &<< 24
  }
}

// MARK: - Nearest neighbour

extension Reduce {
  /// Takes one pixel of each block of `ratio` x `ratio` child pixels, unchanged: for nearest-neighbour pyramids, in
  /// which no colour may appear that the source does not have.
  ///
  /// With an odd ratio this is the block's centre. With an even ratio no pixel is in the centre, and taking the same
  /// one at every level would shift the map by half a pixel each time. So `phase` 0 takes the pixel above and left of
  /// the centre, 1 the one below and right, and a caller alternates. If the child ends inside a block, the block's last
  /// pixel is taken.
  ///
  /// - Precondition: the reduced child, its size divided by the ratio and rounded up, lies inside the parent.
  package static func pick(
    _ child: PixelBuffer, ratio: Int, into parent: PixelBuffer, x: Int, y: Int, phase: Int
  ) {
    let target = checkedTarget(child, ratio: ratio, in: parent, x: x, y: y)
    let offset = ratio % 2 == 1 ? ratio / 2 : ratio / 2 - (phase == 0 ? 1 : 0)
    let columns = (child.width + ratio - 1) / ratio
    for row in 0..<(child.height + ratio - 1) / ratio {
      let source = UnsafeRawPointer(child.bytes) + min(row * ratio + offset, child.height - 1) * child.rowBytes
      let output = target + row * parent.rowBytes
      for column in 0..<columns {
        let place = min(column &* ratio &+ offset, child.width &- 1)
        let pixel = source.loadUnaligned(fromByteOffset: place &* 4, as: UInt32.self)
        output.storeBytes(of: pixel, toByteOffset: column &* 4, as: UInt32.self)
      }
    }
  }
}
