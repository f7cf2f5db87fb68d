import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct PixelBufferTests {
  @Test(arguments: [
    (Pictures.transparent, PixelBuffer.Opacity.transparent), (.uniform, .opaque), (.photographic, .opaque),
    (.noise, .mixed),
    (.photographicWithHoles, .mixed),
  ])
  func opacityIsClassified(_ kind: Pictures, _ expected: PixelBuffer.Opacity) {
    #expect(kind.make(width: 61, height: 47, seed: 1).opacity == expected)
  }

  @Test(arguments: [0, 1, 1023, 1024, 1025, 2499])
  func oneDifferentPixelIsFoundAnywhere(_ place: Int) {
    let buffer = PixelBuffer(width: 50, height: 50)
    #expect(buffer.opacity == .transparent)
    #expect(buffer.uniformColour == .transparent)
    buffer.fill(.white)
    #expect(buffer.opacity == .opaque)
    #expect(buffer.uniformColour == .white)
    buffer[place % 50, place / 50] = RGBA(red: 255, green: 255, blue: 255, alpha: 254)
    #expect(buffer.opacity == .mixed)
    #expect(buffer.uniformColour == nil)
    buffer[place % 50, place / 50] = .transparent
    #expect(buffer.opacity == .mixed)
    buffer.clear()
    buffer[place % 50, place / 50] = .black
    #expect(buffer.opacity == .mixed)
  }

  @Test func halfTransparentIsNeitherOpaqueNorTransparent() {
    let buffer = PixelBuffer(width: 3, height: 3)
    buffer.fill(RGBA(red: 10, green: 20, blue: 30, alpha: 128))
    #expect(buffer.opacity == .mixed)
    #expect(buffer.uniformColour == RGBA(red: 10, green: 20, blue: 30, alpha: 128))
    #expect(PixelBuffer(width: 0, height: 7).opacity == .transparent)
    #expect(PixelBuffer(width: 0, height: 7).uniformColour == nil)
  }

  @Test func transparentFillIsAllZero() {
    let buffer = PixelBuffer(width: 2, height: 2)
    buffer.fill(RGBA(red: 1, green: 2, blue: 3, alpha: 0))
    #expect(buffer.content == [UInt8](repeating: 0, count: 16))
  }

  @Test(arguments: [(0, 0), (-3, 2), (8, -2), (20, 20), (-20, 0), (5, 6)])
  func copyIsClipped(_ x: Int, _ y: Int) {
    let source = Pictures.noise.make(width: 7, height: 6, seed: 1)
    let before = Pictures.noise.make(width: 10, height: 9, seed: 2)
    let target = PixelBuffer(width: 10, height: 9)
    target.copy(from: before)
    target.copy(source, x: x, y: y)
    for row in 0..<9 {
      for column in 0..<10 {
        let inside = (0..<7).contains(column - x) && (0..<6).contains(row - y)
        #expect(target[column, row] == (inside ? source[column - x, row - y] : before[column, row]))
      }
    }
  }

  @Test func compositingRoundsToTheNearest() {
    let buffer = PixelBuffer(width: 256, height: 256)
    for a in 0..<256 {
      for value in 0..<256 { buffer[a, value] = RGBA(red: UInt8(value), green: 0, blue: 255, alpha: UInt8(a)) }
    }
    buffer.composite(over: RGBA(red: 200, green: 100, blue: 3, alpha: 9))
    var wrong = 0
    for a in 0..<256 {
      func mix(_ top: Int, _ bottom: Int) -> UInt8 { UInt8((top * a + bottom * (255 - a) + 127) / 255) }
      for value in 0..<256 {
        // Where alpha is 0 the colours are, too.
        let expected = RGBA(
          red: a == 0 ? 200 : mix(value, 200), green: mix(0, 100), blue: a == 0 ? 3 : mix(255, 3))
        if buffer[a, value] != expected { wrong += 1 }
      }
    }
    #expect(wrong == 0)
    #expect(buffer.opacity == .opaque)
  }
}
