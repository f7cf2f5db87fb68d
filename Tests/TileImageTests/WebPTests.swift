import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@Suite(.ownThread) struct WebPTests {
  @Test func translucentPixelsComeStraight() throws {
    let pixels = try decode(Samples.translucentWebP)
    #expect(pixels.width == 16 && pixels.height == 8)
    #expect(pixels[3, 0] == RGBA(red: 255, green: 0, blue: 0, alpha: 128))
    #expect(pixels[15, 7] == RGBA(red: 0, green: 0, blue: 255, alpha: 128))
    let size = try Samples.translucentWebP.withUnsafeBytes { try ImageDecoder.size(of: $0, format: .webp) }
    #expect(size == (16, 8))
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func aTileOfATilesetDecodes() throws {
    let archive = try Data(contentsOf: TestData.url("maps/tilesets/byte_webp.pmtiles"))
    let start = try #require(archive.range(of: Data("RIFF".utf8))?.lowerBound)
    let tile = [UInt8](archive[start...])
    let count = tile[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) } + 8
    let pixels = try decode([UInt8](tile[..<count]))
    #expect(pixels.width == pixels.height && pixels.width >= 256)
    #expect(pixels.opacity != .transparent)
  }
}
