import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct EnlargeTests {
  private static let kinds: [Pictures] = [.noise, .opaqueNoise, .photographic, .photographicWithHoles, .cartography]

  /// Bilinear by definition, premultiplied, in floating point, with the kernel's positions in steps of 1/256. Alpha 0
  /// to 255.
  private static func expected(
    _ source: PixelBuffer, _ x: (first: Int, second: Int, weight: Double),
    _ y: (first: Int, second: Int, weight: Double)
  ) -> SIMD4<Double> {
    func premultiplied(_ x: Int, _ y: Int) -> SIMD4<Double> {
      let pixel = source[x, y]
      let alpha = Double(pixel.alpha)
      return SIMD4(Double(pixel.red) * alpha, Double(pixel.green) * alpha, Double(pixel.blue) * alpha, alpha)
    }
    func mix(_ a: SIMD4<Double>, _ b: SIMD4<Double>, _ weight: Double) -> SIMD4<Double> {
      a * (1 - weight) + b * weight
    }
    let upper = mix(premultiplied(x.first, y.first), premultiplied(x.second, y.first), x.weight)
    let lower = mix(premultiplied(x.first, y.second), premultiplied(x.second, y.second), x.weight)
    let pixel = mix(upper, lower, y.weight)
    return pixel.w == 0 ? pixel : SIMD4(pixel.x / pixel.w, pixel.y / pixel.w, pixel.z / pixel.w, pixel.w)
  }

  private static func sample(
    _ pixel: Int, _ cell: Enlarge.Cell, _ sourceCount: Int, _ targetCount: Int
  ) -> (first: Int, second: Int, weight: Double) {
    let part = Double(sourceCount) / Double(cell.count)
    let place = (Double(cell.index) * part + (Double(pixel) + 0.5) / Double(targetCount) * part) - 0.5
    let steps = (place * 256).rounded()
    let first = Int((steps / 256).rounded(.down))
    let limit = sourceCount - 1
    return (min(max(first, 0), limit), min(max(first + 1, 0), limit), steps / 256 - Double(first))
  }

  @Test(arguments: kinds, 0..<12)
  func drawMatchesTheDefinition(_ kind: Pictures, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let source = kind.make(
      width: Int.random(in: 1...40, using: &random), height: Int.random(in: 1...40, using: &random), seed: seed)
    let target = PixelBuffer(width: Int.random(in: 20...70, using: &random), height: 45)
    // Powers of two, for which positions are exact in floating point, and others.
    let count = [1, 2, 3, 4, 8, 9, 64].randomElement(using: &random)!
    let column = Enlarge.Cell(index: Int.random(in: 0..<count, using: &random), count: count)
    let row = Enlarge.Cell(index: Int.random(in: 0..<count, using: &random), count: count)
    Enlarge.draw(source, column: column, row: row, into: target)
    for y in 0..<target.height {
      for x in 0..<target.width {
        let expected = Self.expected(
          source, Self.sample(x, column, source.width, target.width), Self.sample(y, row, source.height, target.height))
        let found = target[x, y]
        let values = SIMD4(Double(found.red), Double(found.green), Double(found.blue), Double(found.alpha))
        // Two roundings: to the nearest, and of intermediates to 1/128.
        let difference = values - expected
        let isRight =
          found.alpha == 0
          ? expected.w < 0.5 + 1e-6
          : (0..<4).allSatisfy { abs(difference[$0]) <= 0.5 + 1 / 255.0 }
        if !isRight {
          Issue.record("\(kind), seed \(seed): (\(x), \(y)) is \(found), expected \(expected)")
          return
        }
      }
    }
  }

  @Test(arguments: 0..<60)
  func uniformImageDoesNotChange(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let colour = RGBA(word: UInt32.random(in: 0...(.max), using: &random))
    let source = PixelBuffer(width: Int.random(in: 1...20, using: &random), height: 13)
    source.fill(colour)
    let target = PixelBuffer(width: 51, height: 37)
    Enlarge.draw(source, column: Enlarge.Cell(index: 1, count: 3), row: Enlarge.Cell(index: 0, count: 2), into: target)
    #expect(target.uniformColour == (colour.alpha == 0 ? .transparent : colour), "seed \(seed)")
  }

  @Test(arguments: kinds)
  func sameSizeIsACopy(_ kind: Pictures) {
    let source = kind.make(width: 33, height: 20, seed: 4)
    let target = PixelBuffer(width: 33, height: 20)
    Enlarge.draw(source, into: target)
    #expect(target.difference(from: source) == nil)
  }

  /// The parts enlarged one by one equal the whole enlarged at once, exactly.
  @Test(arguments: kinds, [2, 3, 4, 16])
  func partsJoinWithoutSeams(_ kind: Pictures, count: Int) {
    let source = kind.make(width: 24, height: 24, seed: 9)
    let edge = 30
    let whole = PixelBuffer(width: edge * count, height: edge * count)
    Enlarge.draw(source, into: whole)
    let joined = PixelBuffer(width: edge * count, height: edge * count)
    let part = PixelBuffer(width: edge, height: edge)
    for row in 0..<count {
      for column in 0..<count {
        Enlarge.draw(
          source, column: Enlarge.Cell(index: column, count: count), row: Enlarge.Cell(index: row, count: count),
          into: part)
        joined.copy(part, x: column * edge, y: row * edge)
      }
    }
    #expect(joined.difference(from: whole) == nil)
  }

  /// Enlarging and averaging back shifts nothing, so a smooth image hardly changes.
  @Test(arguments: [2, 3, 4])
  func averagingBackIsNearTheSource(_ ratio: Int) {
    let source = PixelBuffer(width: 40, height: 40)
    for y in 0..<40 {
      for x in 0..<40 { source[x, y] = RGBA(red: UInt8(x * 6), green: UInt8(y * 6), blue: UInt8((x + y) * 3)) }
    }
    let enlarged = PixelBuffer(width: 40 * ratio, height: 40 * ratio)
    Enlarge.draw(source, into: enlarged)
    let reduced = PixelBuffer(width: 40, height: 40)
    Reduce.average(enlarged, ratio: ratio, into: reduced, x: 0, y: 0)
    // A ramp is its own bilinear mean. Only the outermost pixels, which lack a neighbour, differ.
    for y in 1..<39 {
      for x in 1..<39 {
        let (a, b) = (reduced[x, y], source[x, y])
        let difference = max(abs(Int(a.red) - Int(b.red)), abs(Int(a.green) - Int(b.green)))
        if difference > 1 {
          Issue.record("ratio \(ratio): (\(x), \(y)) is \(a), was \(b)")
          return
        }
      }
    }
  }
}
