/// The row filters of PNG (third edition, section 9). For each row the filter is chosen whose result costs least, where
/// the cost of a byte grows with its magnitude, fast at first and then ever more slowly, as the length of its code
/// does. The usual sum of magnitudes makes imagery up to 0.7% larger.
enum PNGFilter {
  /// Zero bytes required before each unfiltered row, so that the left neighbour of a row's first pixel reads as 0.
  static let rowPadding = 16

  /// The size of the scratch memory for ``apply(_:previous:count:pixelBytes:scratch:into:)``: a row for each filter
  /// that changes bytes.
  static func scratchBytes(rowBytes: Int) -> Int { 4 * (rowBytes + 16) }

  /// Filters one row.
  ///
  /// - Parameters:
  ///   - row: `count` bytes, with ``rowPadding`` zero bytes before them.
  ///   - previous: the row above (zeros above the first row), likewise.
  ///   - pixelBytes: bytes in a whole pixel, at least 1.
  ///   - scratch: ``scratchBytes(rowBytes:)`` bytes.
  ///   - pairs: chooses the result with the fewest distinct pairs of bytes instead, which compresses better where the
  ///     image repeats itself, and takes five times as long.
  ///   - output: `count + 1` bytes; the first is the filter's number.
  static func apply(
    _ row: UnsafeRawPointer, previous: UnsafeRawPointer, count: Int, pixelBytes: Int,
    scratch: UnsafeMutableRawPointer, pairs: BytePairs? = nil, into output: UnsafeMutableRawPointer
  ) {
    let stride = count &+ 16
    let sub = scratch
    let up = scratch + stride
    let average = scratch + 2 &* stride
    let paeth = scratch + 3 &* stride
    var sums = Sums()
    var i = 0
    // After 255 blocks the 16-bit lanes are added to the totals: 255 * 2 * 31 is below 65536.
    while i &+ 16 <= count {
      let end = min(i &+ 16 &* 255, count &- 15)
      var none16 = SIMD8<UInt16>()
      var sub16 = SIMD8<UInt16>()
      var up16 = SIMD8<UInt16>()
      var average16 = SIMD8<UInt16>()
      var paeth16 = SIMD8<UInt16>()
      while i < end {
        let x = row.loadUnaligned(fromByteOffset: i, as: SIMD16<UInt8>.self)
        let a = row.loadUnaligned(fromByteOffset: i &- pixelBytes, as: SIMD16<UInt8>.self)
        let b = previous.loadUnaligned(fromByteOffset: i, as: SIMD16<UInt8>.self)
        let c = previous.loadUnaligned(fromByteOffset: i &- pixelBytes, as: SIMD16<UInt8>.self)

        let subbed = x &- a
        let upped = x &- b
        // The mean rounded down without a ninth bit: the common bits plus half of the differing ones.
        let averaged = x &- ((a & b) &+ (((a ^ b) & 0xfe) &>> 1))
        let paethed = x &- predictPaeth(a, b, c)

        sub.storeBytes(of: subbed, toByteOffset: i, as: SIMD16<UInt8>.self)
        up.storeBytes(of: upped, toByteOffset: i, as: SIMD16<UInt8>.self)
        average.storeBytes(of: averaged, toByteOffset: i, as: SIMD16<UInt8>.self)
        paeth.storeBytes(of: paethed, toByteOffset: i, as: SIMD16<UInt8>.self)
        none16 &+= pairSums(cost(x))
        sub16 &+= pairSums(cost(subbed))
        up16 &+= pairSums(cost(upped))
        average16 &+= pairSums(cost(averaged))
        paeth16 &+= pairSums(cost(paethed))
        i &+= 16
      }
      sums.none &+= total(none16)
      sums.sub &+= total(sub16)
      sums.up &+= total(up16)
      sums.average &+= total(average16)
      sums.paeth &+= total(paeth16)
    }
    while i < count {
      let x = row.load(fromByteOffset: i, as: UInt8.self)
      let a = row.load(fromByteOffset: i &- pixelBytes, as: UInt8.self)
      let b = previous.load(fromByteOffset: i, as: UInt8.self)
      let c = previous.load(fromByteOffset: i &- pixelBytes, as: UInt8.self)
      let subbed = x &- a
      let upped = x &- b
      let averaged = x &- ((a & b) &+ (a ^ b) &>> 1)
      let paethed = x &- predictPaeth(a, b, c)
      sub.storeBytes(of: subbed, toByteOffset: i, as: UInt8.self)
      up.storeBytes(of: upped, toByteOffset: i, as: UInt8.self)
      average.storeBytes(of: averaged, toByteOffset: i, as: UInt8.self)
      paeth.storeBytes(of: paethed, toByteOffset: i, as: UInt8.self)
      sums.none &+= cost(x)
      sums.sub &+= cost(subbed)
      sums.up &+= cost(upped)
      sums.average &+= cost(averaged)
      sums.paeth &+= cost(paethed)
      i &+= 1
    }

    if let pairs {
      // Without filters 0 and 3, which are rarely the best.
      (sums.none, sums.average) = (.max, .max)
      sums.sub = pairs.count(sub, byteCount: count)
      sums.up = pairs.count(up, byteCount: count)
      sums.paeth = pairs.count(paeth, byteCount: count)
    }
    var best = sums.none
    var filter: UInt8 = 0
    var chosen = row
    if sums.sub < best { (best, filter, chosen) = (sums.sub, 1, UnsafeRawPointer(sub)) }
    if sums.up < best { (best, filter, chosen) = (sums.up, 2, UnsafeRawPointer(up)) }
    if sums.average < best { (best, filter, chosen) = (sums.average, 3, UnsafeRawPointer(average)) }
    if sums.paeth < best { (best, filter, chosen) = (sums.paeth, 4, UnsafeRawPointer(paeth)) }
    output.storeBytes(of: filter, as: UInt8.self)
    (output + 1).copyMemory(from: chosen, byteCount: count)
  }

  /// Filters one row with filter 2, the difference from the row above; `output` as above.
  static func applyUp(
    _ row: UnsafeRawPointer, previous: UnsafeRawPointer, count: Int, into output: UnsafeMutableRawPointer
  ) {
    output.storeBytes(of: 2, as: UInt8.self)
    let line = output + 1
    for i in 0..<count {
      let x = row.load(fromByteOffset: i, as: UInt8.self)
      line.storeBytes(of: x &- previous.load(fromByteOffset: i, as: UInt8.self), toByteOffset: i, as: UInt8.self)
    }
  }

  private struct Sums {
    var none: UInt32 = 0
    var sub: UInt32 = 0
    var up: UInt32 = 0
    var average: UInt32 = 0
    var paeth: UInt32 = 0
  }

  /// The Paeth predictor in eight bits. With p = a + b - c: |p - a| = |b - c| and |p - b| = |a - c| are plain
  /// differences, and |p - c| = |(b - c) + (a - c)| is their difference when the two have opposite signs; with equal
  /// signs it is their sum, which is never the smallest, so any large value serves.
  @inline(__always)
  private static func predictPaeth(
    _ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>, _ c: SIMD16<UInt8>
  ) -> SIMD16<UInt8> {
    let toA = difference(b, c)
    let toB = difference(a, c)
    // Only if c lies between a and b, inclusive, can it be the nearest.
    let low = smaller(a, b)
    let high = larger(a, b)
    let toC = SIMD16<UInt8>(repeating: 255)
      .replacing(with: difference(toA, toB), where: smaller(larger(c, low), high) .== c)
    let nearB = b.replacing(with: c, where: toC .< toB)
    return nearB.replacing(with: a, where: toA .<= smaller(toB, toC))
  }

  @inline(__always)
  private static func predictPaeth(_ a: UInt8, _ b: UInt8, _ c: UInt8) -> UInt8 {
    let p = Int(a) &+ Int(b) &- Int(c)
    let toA = abs(p &- Int(a))
    let toB = abs(p &- Int(b))
    let toC = abs(p &- Int(c))
    return toA <= toB && toA <= toC ? a : toB <= toC ? b : c
  }

  @inline(__always)
  private static func smaller(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>) -> SIMD16<UInt8> {
    b.replacing(with: a, where: a .< b)
  }

  @inline(__always)
  private static func larger(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>) -> SIMD16<UInt8> {
    b.replacing(with: a, where: a .> b)
  }

  @inline(__always)
  private static func difference(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>) -> SIMD16<UInt8> {
    larger(a, b) &- smaller(a, b)
  }

  /// The absolute value of a byte read as signed.
  @inline(__always)
  private static func magnitude(_ x: SIMD16<UInt8>) -> SIMD16<UInt8> { smaller(x, SIMD16<UInt8>() &- x) }

  /// The cost of a filtered byte of magnitude m: 4 min(m, 2) + min(m, 8) + min(m, 32) / 4 + m / 16, at most 32.
  @inline(__always)
  private static func cost(_ x: SIMD16<UInt8>) -> SIMD16<UInt8> {
    let m = magnitude(x)
    let two = smaller(m, SIMD16(repeating: 2))
    let low = (two &+ two) &+ (two &+ two) &+ smaller(m, SIMD16(repeating: 8))
    return low &+ (smaller(m, SIMD16(repeating: 32)) &>> 2) &+ (m &>> 4)
  }

  @inline(__always)
  private static func cost(_ x: UInt8) -> UInt32 {
    let m = min(x, 0 &- x)
    return UInt32(4 * min(m, 2) + min(m, 8) + min(m, 32) / 4 + m / 16)
  }

  /// Adds neighbouring bytes to sums of 16 bits.
  @inline(__always)
  private static func pairSums(_ x: SIMD16<UInt8>) -> SIMD8<UInt16> {
    let pairs = unsafeBitCast(x, to: SIMD8<UInt16>.self)
    return (pairs & 0x00ff) &+ (pairs &>> 8)
  }

  private static func total(_ x: SIMD8<UInt16>) -> UInt32 {
    var sum: UInt32 = 0
    for lane in 0..<8 { sum &+= UInt32(x[lane]) }
    return sum
  }
}

/// Counts the distinct pairs of neighbouring bytes in rows: a measure of how much they repeat themselves, which sums
/// over single bytes do not see.
final class BytePairs {
  /// The number of the row in which a pair occurred last.
  private let marks: UnsafeMutablePointer<UInt8>
  private var mark: UInt8 = 0

  init() {
    marks = .allocate(capacity: 1 << 16)
    marks.initialize(repeating: 0, count: 1 << 16)
  }

  deinit { marks.deallocate() }

  /// - Complexity: O(bytes), about 1 ns a byte.
  func count(_ row: UnsafeRawPointer, byteCount: Int) -> UInt32 {
    if mark == .max {
      marks.update(repeating: 0, count: 1 << 16)
      mark = 0
    }
    mark += 1
    let (marks, mark) = (marks, mark)
    var count: UInt32 = 0
    for i in 0..<max(byteCount &- 1, 0) {
      let pair = Int(row.loadUnaligned(fromByteOffset: i, as: UInt16.self))
      count &+= marks[pair] == mark ? 0 : 1
      marks[pair] = mark
    }
    return count
  }
}
