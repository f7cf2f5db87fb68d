import TestSupport
import Testing

@testable import TileCut

@Suite(.ownThread) struct KernelShapeTests {
  private func weights(_ shape: KernelShape, _ position: Double, count: Int) -> (first: Int, values: [Float]) {
    var buffer = [Float](repeating: .nan, count: shape.tapCountMax)
    let run = buffer.withUnsafeMutableBufferPointer { shape.weights(at: position, count: count, into: $0.baseAddress!) }
    return (run.first, Array(buffer[..<run.taps]))
  }

  @Test(arguments: [Resampling.bilinear, .cubic, .lanczos, .gauss, .average])
  func weightsSumToOneAndStayInsideTheSource(_ resampling: Resampling) {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let shape = KernelShape(resampling, scale: Double.random(in: 0.1...6, using: &random))
      let count = Int.random(in: 1...40, using: &random)
      let position = Double.random(in: 0..<Double(count), using: &random)
      let (first, values) = weights(shape, position, count: count)
      #expect(values.count <= shape.tapCountMax)
      #expect(first >= 0 && first + values.count <= count)
      #expect(abs(values.reduce(0, +) - 1) < 1e-4, "\(resampling) scale \(shape.scale) at \(position) of \(count)")
    }
  }

  /// At a pixel's centre, without shrinking, the result is the pixel itself.
  @Test(arguments: [Resampling.bilinear, .cubic, .lanczos, .average])
  func centreIsIdentity(_ resampling: Resampling) {
    let (first, values) = weights(KernelShape(resampling, scale: 1), 7.5, count: 20)
    for (k, value) in values.enumerated() { #expect(abs(value - (first + k == 7 ? 1 : 0)) < 1e-6) }
  }

  @Test func cubicIsKeysWithAMinusOneHalf() {
    let (first, values) = weights(KernelShape(.cubic, scale: 1), 10, count: 20)
    // Halfway between pixels 9 and 10: -1/16, 9/16, 9/16, -1/16.
    let expected: [Int: Float] = [8: -0.0625, 9: 0.5625, 10: 0.5625, 11: -0.0625]
    for (k, value) in values.enumerated() { #expect(abs(value - (expected[first + k] ?? 0)) < 1e-6) }
  }

  /// The values of GDAL's GWKLanczosSinc for a position halfway between two pixels, divided by their sum.
  @Test func lanczosHasThreeLobes() {
    let (first, values) = weights(KernelShape(.lanczos, scale: 1), 10, count: 20)
    let expected: [Int: Double] = [7: 0.0243170841, 8: -0.1350949110, 9: 0.6079271019]
    let sum = 2 * expected.values.reduce(0, +)
    #expect(first == 7 && values.count == 6)
    for (k, value) in values.enumerated() {
      #expect(abs(Double(value) - expected[k < 3 ? 7 + k : 12 - k]! / sum) < 2e-6, "\(k)")
    }
  }

  /// Halving has the variance of GDAL's 3 x 3 matrix for overviews, half a pixel of the source squared.
  @Test func gaussHasTheWidthOfGDALsOverviews() {
    let (first, values) = weights(KernelShape(.gauss, scale: 2), 10, count: 20)
    let variance = values.enumerated().reduce(0.0) { sum, tap in
      let distance = Double(first + tap.offset) + 0.5 - 10
      return sum + Double(tap.element) * distance * distance
    }
    #expect(abs(variance - 0.5) < 0.01, "\(variance)")
  }

  @Test func averageCoversTheFootprint() {
    // A footprint of 3 pixels around 10 covers 8.5 to 11.5.
    let (first, values) = weights(KernelShape(.average, scale: 3), 10, count: 20)
    let expected: [Int: Float] = [8: 0.5 / 3, 9: 1 / 3, 10: 1 / 3, 11: 0.5 / 3]
    for (k, value) in values.enumerated() { #expect(abs(value - (expected[first + k] ?? 0)) < 1e-6) }
  }

  @Test func kernelsWidenOnlyWhenShrinking() {
    #expect(KernelShape(.bilinear, scale: 0.3).stretch == 1)
    #expect(KernelShape(.bilinear, scale: 1.04).stretch == 1)
    #expect(KernelShape(.bilinear, scale: 1.5).stretch == 1.5)
    #expect(KernelShape(.cubic, scale: 2).radius == 4)
  }

  /// A kernel that lacks one of its negative lobes would overshoot.
  @Test(arguments: [0.2, 1.2, 18.6, 19.9], [Resampling.cubic, .lanczos])
  func kernelsWithLobesAreBilinearAtTheEdge(position: Double, resampling: Resampling) {
    let (first, values) = weights(KernelShape(resampling, scale: 1), position, count: 20)
    let (expectedFirst, expected) = weights(KernelShape(.bilinear, scale: 1), position, count: 20)
    #expect(first == expectedFirst && values == expected)
  }
}
