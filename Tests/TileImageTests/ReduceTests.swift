import Foundation
import TestSupport
import Testing
import TileImage

@Suite(.ownThread) struct ReduceTests {
  /// The average by definition, in floating point.
  private static func average(_ child: PixelBuffer, ratio: Int, x: Int, y: Int) -> RGBA {
    var red = 0.0
    var green = 0.0
    var blue = 0.0
    var alpha = 0.0
    var count = 0.0
    for row in y * ratio..<min((y + 1) * ratio, child.height) {
      for column in x * ratio..<min((x + 1) * ratio, child.width) {
        let pixel = child[column, row]
        let a = Double(pixel.alpha)
        red += Double(pixel.red) * a
        green += Double(pixel.green) * a
        blue += Double(pixel.blue) * a
        alpha += a
        count += 1
      }
    }
    if alpha == 0 { return .transparent }
    func nearest(_ value: Double) -> UInt8 { UInt8(value.rounded(.toNearestOrAwayFromZero)) }
    return RGBA(
      red: nearest(red / alpha), green: nearest(green / alpha), blue: nearest(blue / alpha),
      alpha: max(nearest(alpha / count), 1))
  }

  @Test(arguments: [1, 2, 3, 4, 5, 16], Pictures.allCases)
  func averageMatchesTheDefinition(_ ratio: Int, _ kind: Pictures) {
    for (seed, (width, height)) in [(24, 24), (25, 13), (1, 1), (2, 31), (40, 48)].enumerated() {
      let child = kind.make(width: width, height: height, seed: UInt64(seed))
      let columns = (width + ratio - 1) / ratio
      let rows = (height + ratio - 1) / ratio
      let parent = PixelBuffer(width: columns + 5, height: rows + 3)
      Reduce.average(child, ratio: ratio, into: parent, x: 3, y: 2)
      for y in 0..<parent.height {
        for x in 0..<parent.width {
          let inside = (3..<3 + columns).contains(x) && (2..<2 + rows).contains(y)
          let expected = inside ? Self.average(child, ratio: ratio, x: x - 3, y: y - 2) : .transparent
          if parent[x, y] != expected {
            Issue.record("\(kind) ratio \(ratio) seed \(seed) (\(x), \(y)): \(parent[x, y]), expected \(expected)")
            return
          }
        }
      }
    }
  }

  /// The average in linear light by definition, in floating point.
  private static func linearAverage(_ child: PixelBuffer, ratio: Int, x: Int, y: Int) -> RGBA {
    func light(_ value: UInt8) -> Double {
      let v = Double(value) / 255
      return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4)
    }
    var (sums, alpha, count) = (SIMD3<Double>.zero, 0.0, 0.0)
    for row in y * ratio..<min((y + 1) * ratio, child.height) {
      for column in x * ratio..<min((x + 1) * ratio, child.width) {
        let pixel = child[column, row]
        sums += SIMD3(light(pixel.red), light(pixel.green), light(pixel.blue)) * Double(pixel.alpha)
        alpha += Double(pixel.alpha)
        count += 1
      }
    }
    if alpha == 0 { return .transparent }
    func encoded(_ sum: Double) -> UInt8 {
      let v = sum / alpha
      return UInt8((255 * (v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055)).rounded())
    }
    return RGBA(
      red: encoded(sums.x), green: encoded(sums.y), blue: encoded(sums.z),
      alpha: max(UInt8((alpha / count).rounded()), 1))
  }

  /// Within one level, since sums have 16 bits; alpha is exact.
  @Test(arguments: [1, 2, 3, 4, 16], Pictures.allCases)
  func linearAverageMatchesTheDefinition(_ ratio: Int, _ kind: Pictures) {
    for (seed, (width, height)) in [(24, 24), (25, 13), (1, 1), (2, 31), (40, 48)].enumerated() {
      let child = kind.make(width: width, height: height, seed: UInt64(seed))
      let columns = (width + ratio - 1) / ratio
      let rows = (height + ratio - 1) / ratio
      let parent = PixelBuffer(width: columns + 5, height: rows + 3)
      Reduce.averageLinear(child, ratio: ratio, into: parent, x: 3, y: 2)
      for y in 0..<parent.height {
        for x in 0..<parent.width {
          let inside = (3..<3 + columns).contains(x) && (2..<2 + rows).contains(y)
          let expected = inside ? Self.linearAverage(child, ratio: ratio, x: x - 3, y: y - 2) : .transparent
          let found = parent[x, y]
          let away = [
            (found.red, expected.red), (found.green, expected.green), (found.blue, expected.blue),
          ].map { abs(Int($0.0) - Int($0.1)) }.max()!
          if away > (ratio == 1 ? 0 : 1) || found.alpha != expected.alpha {
            Issue.record("\(kind) ratio \(ratio) seed \(seed) (\(x), \(y)): \(found), expected \(expected)")
            return
          }
        }
      }
    }
  }

  /// As bright from afar as the chequerboard, at every level; in sRGB values it would be 128.
  @Test func chequerboardBecomes188InLinearLight() {
    let child = PixelBuffer(width: 64, height: 64)
    for y in 0..<64 {
      for x in 0..<64 {
        let level: UInt8 = (x + y) % 2 == 0 ? 255 : 0
        child[x, y] = RGBA(red: level, green: level, blue: level)
      }
    }
    let parent = PixelBuffer(width: 32, height: 32)
    Reduce.averageLinear(child, ratio: 2, into: parent, x: 0, y: 0)
    #expect(parent.uniformColour == RGBA(red: 188, green: 188, blue: 188))
    let top = PixelBuffer(width: 16, height: 16)
    Reduce.averageLinear(parent, ratio: 2, into: top, x: 0, y: 0)
    #expect(top.uniformColour == RGBA(red: 188, green: 188, blue: 188))
  }

  @Test(arguments: [1, 2, 3, 4, 7], [0, 1])
  func pickTakesThePixelNearestToTheCentre(_ ratio: Int, _ phase: Int) {
    let child = Pictures.noise.make(width: 29, height: 17, seed: 4)
    let columns = (29 + ratio - 1) / ratio
    let rows = (17 + ratio - 1) / ratio
    let parent = PixelBuffer(width: columns + 1, height: rows)
    Reduce.pick(child, ratio: ratio, into: parent, x: 1, y: 0, phase: phase)
    let offset = ratio % 2 == 1 ? (ratio - 1) / 2 : ratio / 2 - 1 + phase
    for y in 0..<rows {
      for x in 0..<columns {
        #expect(parent[x + 1, y] == child[min(x * ratio + offset, 28), min(y * ratio + offset, 16)])
      }
    }
  }

  @Test func whiteNeitherDarkensNorVanishes() {
    var level = PixelBuffer(width: 256, height: 256)
    for y in 0..<256 {
      for x in 0..<256 {
        let distance = (Double((x - 128) * (x - 128) + (y - 127) * (y - 127))).squareRoot()
        let cover = min(max(90.5 - distance, 0), 1)
        level[x, y] = RGBA(red: 255, green: 255, blue: 255, alpha: UInt8(cover * 255))
      }
    }
    for _ in 0..<8 {
      let parent = PixelBuffer(width: level.width / 2, height: level.height / 2)
      Reduce.average(level, ratio: 2, into: parent, x: 0, y: 0)
      level = parent
      var visible = 0
      for y in 0..<level.height {
        for x in 0..<level.width where level[x, y].alpha > 0 {
          visible += 1
          #expect(level[x, y].red == 255 && level[x, y].green == 255 && level[x, y].blue == 255)
        }
      }
      #expect(visible > 0)
      let composited = PixelBuffer(width: level.width, height: level.height)
      composited.copy(from: level)
      composited.composite(over: .white)
      #expect(composited.content.allSatisfy { $0 >= 254 })
    }
  }

  @Test func oneFaintPixelRemainsVisible() {
    var level = PixelBuffer(width: 64, height: 64)
    level[37, 21] = RGBA(red: 200, green: 10, blue: 90, alpha: 1)
    while level.width > 1 {
      let parent = PixelBuffer(width: level.width / 2, height: level.height / 2)
      Reduce.average(level, ratio: 2, into: parent, x: 0, y: 0)
      level = parent
    }
    #expect(level[0, 0] == RGBA(red: 200, green: 10, blue: 90, alpha: 1))
  }
}
