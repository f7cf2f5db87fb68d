import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct OverlayTests {
  /// Source over by definition, in floating point.
  private static func over(_ top: RGBA, _ bottom: RGBA) -> RGBA {
    let a = Double(top.alpha) / 255
    let b = Double(bottom.alpha) / 255 * (1 - a)
    if a + b == 0 { return .transparent }
    func mix(_ x: UInt8, _ y: UInt8) -> UInt8 {
      UInt8(((Double(x) * a + Double(y) * b) / (a + b) + 1e-9).rounded(.toNearestOrAwayFromZero))
    }
    return RGBA(
      red: mix(top.red, bottom.red), green: mix(top.green, bottom.green), blue: mix(top.blue, bottom.blue),
      alpha: UInt8(((a + b) * 255 + 1e-9).rounded(.toNearestOrAwayFromZero)))
  }

  @Test(arguments: Pictures.allCases, [Pictures.noise, .photographicWithHoles, .opaqueNoise, .transparent])
  func drawMatchesTheDefinition(_ topKind: Pictures, _ bottomKind: Pictures) {
    let top = topKind.make(width: 31, height: 20, seed: 11)
    let bottom = bottomKind.make(width: 31, height: 20, seed: 12)
    let result = PixelBuffer(width: 31, height: 20)
    result.copy(from: bottom)
    Overlay.draw(top, over: result)
    for y in 0..<20 {
      for x in 0..<31 {
        let expected = Self.over(top[x, y], bottom[x, y])
        if result[x, y] != expected {
          Issue.record("\(topKind) over \(bottomKind) (\(x), \(y)): \(result[x, y]), expected \(expected)")
          return
        }
      }
    }
  }

  @Test func everyPairOfAlphasMatchesTheDefinition() {
    let top = PixelBuffer(width: 256, height: 256)
    let bottom = PixelBuffer(width: 256, height: 256)
    for a in 0..<256 {
      for b in 0..<256 {
        top[a, b] = RGBA(red: 250, green: 3, blue: 128, alpha: UInt8(a))
        bottom[a, b] = RGBA(red: 1, green: 254, blue: 77, alpha: UInt8(b))
      }
    }
    let result = PixelBuffer(width: 256, height: 256)
    result.copy(from: bottom)
    Overlay.draw(top, over: result)
    var wrong = 0
    for a in 0..<256 {
      for b in 0..<256 where result[a, b] != Self.over(top[a, b], bottom[a, b]) { wrong += 1 }
    }
    #expect(wrong == 0)
  }
}
