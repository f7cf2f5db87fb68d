import LibC

extension Reduce {
  /// Averages the child into the parent as ``average(_:ratio:into:x:y:)`` does, but in linear light: a black and white
  /// chequerboard becomes 188, which is as bright from afar, and not 128.
  ///
  /// Colours pass through the transfer function of sRGB (IEC 61966-2-1) in 16 bits, and are rounded to the nearest
  /// value of 8 bits. Alpha is linear as it is.
  ///
  /// - Precondition: the reduced child, its size divided by the ratio and rounded up, lies inside the parent.
  /// - Complexity: O(child pixels).
  package static func averageLinear(_ child: PixelBuffer, ratio: Int, into parent: PixelBuffer, x: Int, y: Int) {
    let target = checkedTarget(child, ratio: ratio, in: parent, x: x, y: y)
    let tables = LinearLight.tables
    let columns = (child.width + ratio - 1) / ratio
    for row in 0..<(child.height + ratio - 1) / ratio {
      let source = UnsafeRawPointer(child.bytes) + row * ratio * child.rowBytes
      let rows = min(ratio, child.height - row * ratio)
      let output = target + row * parent.rowBytes
      var column = 0
      if ratio == 2 && rows == 2 {
        column = child.width / 2
        averageLinearPairs(source, source + child.rowBytes, into: output, count: column, tables)
      }
      while column < columns {
        let pixel = averageLinearBlock(
          source + column * ratio * 4, rowBytes: child.rowBytes, width: min(ratio, child.width - column * ratio),
          height: rows, tables)
        output.storeBytes(of: pixel, toByteOffset: column &* 4, as: UInt32.self)
        column += 1
      }
    }
  }

  /// Averages `count` adjacent blocks of 2 x 2 pixels of two rows.
  private static func averageLinearPairs(
    _ upper: UnsafeRawPointer, _ lower: UnsafeRawPointer, into output: UnsafeMutableRawPointer, count: Int,
    _ tables: LinearLight
  ) {
    let (linear, encoded) = (tables.linear, tables.encoded)
    for i in 0..<count {
      let a = upper.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let b = upper.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      let c = lower.loadUnaligned(fromByteOffset: i &* 8, as: UInt32.self)
      let d = lower.loadUnaligned(fromByteOffset: i &* 8 &+ 4, as: UInt32.self)
      guard (a & b & c & d) &>> 24 == 255 else {
        let pixel = averageLinearBlock(upper + i &* 8, below: lower + i &* 8, tables)
        output.storeBytes(of: pixel, toByteOffset: i &* 4, as: UInt32.self)
        continue
      }
      // Most blocks of a map have one colour.
      if a == b, a == c, a == d {
        output.storeBytes(of: a, toByteOffset: i &* 4, as: UInt32.self)
        continue
      }
      @inline(__always) func mean(_ shift: UInt32) -> UInt32 {
        let sum =
          linear[Int(a &>> shift & 255)] &+ linear[Int(b &>> shift & 255)] &+ linear[Int(c &>> shift & 255)]
          &+ linear[Int(d &>> shift & 255)]
        return UInt32(encoded[Int((sum &+ 2) &>> 2)]) &<< shift
      }
      output.storeBytes(of: mean(0) | mean(8) | mean(16) | 0xff00_0000, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  private static func averageLinearBlock(
    _ upper: UnsafeRawPointer, below lower: UnsafeRawPointer, _ tables: LinearLight
  ) -> UInt32 {
    var sums = LinearSums()
    for pair in [upper, lower] {
      sums.add(pair.loadUnaligned(as: UInt32.self), tables)
      sums.add(pair.loadUnaligned(fromByteOffset: 4, as: UInt32.self), tables)
    }
    return sums.mean(count: 4, tables)
  }

  /// The average of one block of any size up to `ratioMax` squared.
  private static func averageLinearBlock(
    _ block: UnsafeRawPointer, rowBytes: Int, width: Int, height: Int, _ tables: LinearLight
  ) -> UInt32 {
    var sums = LinearSums()
    for row in 0..<height {
      let line = block + row &* rowBytes
      for column in 0..<width { sums.add(line.loadUnaligned(fromByteOffset: column &* 4, as: UInt32.self), tables) }
    }
    return sums.mean(count: UInt64(width &* height), tables)
  }
}

/// Sums of alpha and of linear colours times alpha, for up to 256 pixels.
private struct LinearSums {
  var red: UInt64 = 0
  var green: UInt64 = 0
  var blue: UInt64 = 0
  var alpha: UInt64 = 0

  @inline(__always)
  mutating func add(_ pixel: UInt32, _ tables: LinearLight) {
    let a = UInt64(pixel &>> 24)
    red &+= UInt64(tables.linear[Int(pixel & 255)]) &* a
    green &+= UInt64(tables.linear[Int(pixel &>> 8 & 255)]) &* a
    blue &+= UInt64(tables.linear[Int(pixel &>> 16 & 255)]) &* a
    alpha &+= a
  }

  @inline(__always)
  func mean(count: UInt64, _ tables: LinearLight) -> UInt32 {
    if alpha == 0 { return 0 }
    let half = alpha &>> 1
    let r = UInt32(tables.encoded[Int((red &+ half) / alpha)])
    let g = UInt32(tables.encoded[Int((green &+ half) / alpha)])
    let b = UInt32(tables.encoded[Int((blue &+ half) / alpha)])
    let a = UInt32(max((alpha &+ count &>> 1) / count, 1))
    return r | g &<< 8 | b &<< 16 | a &<< 24
  }
}

/// The transfer function of sRGB and its inverse as tables, which are made once and never change.
private struct LinearLight: @unchecked Sendable {
  /// 256 linear values, 0 to 65535.
  let linear: UnsafePointer<UInt32>
  /// For each of 65,536 linear values the nearest one of 8 bits in sRGB.
  let encoded: UnsafePointer<UInt8>

  static let tables = LinearLight()

  private init() {
    let linear = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    for value in 0..<256 { linear[value] = UInt32((Self.linear(Double(value) / 255) * 65535).rounded()) }
    let encoded = UnsafeMutablePointer<UInt8>.allocate(capacity: 65536)
    var value = 0
    for light in 0..<65536 {
      // Half a step in sRGB is where rounding changes.
      while value < 255, Self.linear((Double(value) + 0.5) / 255) * 65535 <= Double(light) { value += 1 }
      encoded[light] = UInt8(value)
    }
    (self.linear, self.encoded) = (UnsafePointer(linear), UnsafePointer(encoded))
  }

  private static func linear(_ value: Double) -> Double {
    value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }
}
