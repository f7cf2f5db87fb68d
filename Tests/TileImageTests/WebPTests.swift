import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@Suite(.ownThread) struct WebPTests {
  @Test func translucentPixelsAreNotPremultiplied() throws {
    let pixels = try decode(Samples.translucentWebP)
    #expect(pixels.width == 16 && pixels.height == 8)
    #expect(pixels[3, 0] == RGBA(red: 255, green: 0, blue: 0, alpha: 128))
    #expect(pixels[15, 7] == RGBA(red: 0, green: 0, blue: 255, alpha: 128))
    let size = try Samples.translucentWebP.withUnsafeBytes { try ImageDecoder.size(of: $0, format: .webp) }
    #expect(size == (16, 8))
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func tileOfATilesetDecodes() throws {
    let archive = try Data(contentsOf: TestData.url("maps/tilesets/byte_webp.pmtiles"))
    let start = try #require(archive.range(of: Data("RIFF".utf8))?.lowerBound)
    let tile = [UInt8](archive[start...])
    let count = tile[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) } + 8
    let pixels = try decode([UInt8](tile[..<count]))
    #expect(pixels.width == pixels.height && pixels.width >= 256)
    #expect(pixels.opacity != .transparent)
  }
}

@Suite(.ownThread) struct WebPEncoderTests {
  @Test(arguments: Pictures.allCases)
  func losslessImagesRoundTrip(_ kind: Pictures) throws {
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

  @Test func lossyImagesRoundTripApproximately() throws {
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

  @Test func lossyImagesKeepTheirTransparency() throws {
    let picture = Pictures.photographicWithHoles.make(width: 80, height: 80, seed: 3)
    let decoded = try decode(TileEncoder(.webp(WebPOptions(lossless: false))).encode(picture))
    for y in 0..<80 {
      for x in 0..<80 where decoded[x, y].alpha != picture[x, y].alpha {
        Issue.record("(\(x), \(y)): alpha \(decoded[x, y].alpha), expected \(picture[x, y].alpha)")
        return
      }
    }
  }

  @Test func sizesBeyondTheFormatAreRejected() throws {
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
