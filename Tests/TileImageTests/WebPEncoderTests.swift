import TestSupport
import Testing
import TileImage
import TileIndex

@Suite(.ownThread) struct WebPEncoderTests {
  @Test(arguments: Pictures.allCases)
  func losslessPicturesComeBackExactly(_ kind: Pictures) throws {
    let encoder = TileEncoder(.webp(WebPOptions(effort: 1)))
    for (index, (width, height)) in PNGEncoderTests.sizes.enumerated() {
      let picture = kind.make(width: width, height: height, seed: UInt64(index))
      let bytes = try encoder.encode(picture)
      #expect(bytes.withUnsafeBytes { TileFormat(sniffing: $0) } == .webp)
      #expect(try decode(bytes).difference(from: picture) == nil, "\(kind) \(width) x \(height), seed \(index)")
    }
  }

  @Test(arguments: 0...9)
  func everyEffortIsLossless(_ effort: Int) throws {
    let picture = Pictures.photographicWithHoles.make(width: 64, height: 48, seed: 5)
    let bytes = try TileEncoder(.webp(WebPOptions(effort: effort))).encode(picture)
    #expect(try decode(bytes).difference(from: picture) == nil)
  }

  @Test func lossyPicturesComeBackNearly() throws {
    let picture = Pictures.photographic.make(width: 128, height: 128, seed: 2)
    func encode(_ quality: Int) throws -> [UInt8] {
      try TileEncoder(.webp(WebPOptions(lossless: false, quality: quality))).encode(picture)
    }
    let (good, poor) = (try encode(95), try encode(10))
    #expect(poor.count < good.count)
    #expect(meanDifference(try decode(good), picture) < meanDifference(try decode(poor), picture))
    #expect(meanDifference(try decode(good), picture) < 8)
    #expect(try encode(95) == good)
  }

  @Test func lossyPicturesKeepTheirTransparency() throws {
    let picture = Pictures.photographicWithHoles.make(width: 80, height: 80, seed: 3)
    let decoded = try decode(TileEncoder(.webp(WebPOptions(lossless: false))).encode(picture))
    for y in 0..<80 {
      for x in 0..<80 where decoded[x, y].alpha != picture[x, y].alpha {
        Issue.record("(\(x), \(y)): alpha \(decoded[x, y].alpha), expected \(picture[x, y].alpha)")
        return
      }
    }
  }

  @Test func sizesBeyondTheFormatAreRefused() throws {
    #expect {
      try TileEncoder(.webp(WebPOptions())).encode(PixelBuffer(width: 16_384, height: 1))
    } throws: {
      ($0 as? ImageError)?.code == .encodingFailed && "\($0)".contains("16384 x 1")
    }
  }

  private func meanDifference(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    let sum = zip(a.content, b.content).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(a.byteCount)
  }
}
