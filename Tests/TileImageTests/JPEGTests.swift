import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileImage

@Suite(.ownThread) struct JPEGTests {
  /// Peak signal to noise ratio in dB, over the three colours.
  private static func psnr(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    var sum = 0.0
    for y in 0..<a.height {
      for x in 0..<a.width {
        for channel in [\RGBA.red, \.green, \.blue] {
          let difference = Double(a[x, y][keyPath: channel]) - Double(b[x, y][keyPath: channel])
          sum += difference * difference
        }
      }
    }
    return 10 * log10(255 * 255 / max(sum / Double(a.width * a.height * 3), 1e-9))
  }

  private static func smooth(width: Int, height: Int) -> PixelBuffer {
    let picture = PixelBuffer(width: width, height: height)
    for y in 0..<height {
      for x in 0..<width {
        picture[x, y] = RGBA(
          red: UInt8(128 + 100 * sin(Double(x) / 19)), green: UInt8(128 + 100 * cos(Double(y) / 23)),
          blue: UInt8(x * 255 / width))
      }
    }
    return picture
  }

  @Test(arguments: [(30, 28.0), (75, 34), (85, 36), (95, 42), (100, 45)])
  func lossyRoundTripReachesTheExpectedQuality(quality: Int, decibels: Double) throws {
    let picture = Self.smooth(width: 120, height: 90)
    let bytes = try TileEncoder(.jpeg(JPEGOptions(quality: quality))).encode(picture)
    let decoded = try decode(bytes)
    #expect(decoded.width == 120 && decoded.height == 90 && decoded.opacity == .opaque)
    #expect(Self.psnr(picture, decoded) >= decibels, "\(Self.psnr(picture, decoded)) dB")
  }

  @Test func higherQualityIsLargerAndBetter() throws {
    let picture = Pictures.photographic.make(width: 100, height: 100, seed: 8)
    var last = (bytes: 0, decibels: 0.0)
    for quality in [1, 40, 85, 95] {
      let bytes = try TileEncoder(.jpeg(JPEGOptions(quality: quality))).encode(picture)
      let decibels = Self.psnr(picture, try decode(bytes))
      #expect(bytes.count > last.bytes && decibels > last.decibels)
      last = (bytes.count, decibels)
    }
  }

  @Test func chromaIsSubsampledUpToQuality90() throws {
    // The luminance component's sampling factors in the frame header.
    func sampling(_ quality: Int) throws -> UInt8? {
      let bytes = try TileEncoder(.jpeg(JPEGOptions(quality: quality))).encode(Self.smooth(width: 32, height: 32))
      let frame = bytes.indices.first { bytes[$0] == 0xff && bytes[$0 + 1] == 0xc0 }
      return frame.map { bytes[$0 + 11] }
    }
    #expect(try sampling(85) == 0x22)
    #expect(try sampling(90) == 0x22)
    #expect(try sampling(91) == 0x11)
  }

  @Test(arguments: [RGBA.white, .black, RGBA(red: 200, green: 30, blue: 60)])
  func transparentPixelsShowTheBackground(_ background: RGBA) throws {
    let picture = PixelBuffer(width: 64, height: 32)
    for y in 0..<32 {
      for x in 0..<32 { picture[x, y] = RGBA(red: 10, green: 120, blue: 230) }
    }
    let before = picture.content
    let encoder = TileEncoder(.jpeg(JPEGOptions(quality: 95, background: background)))
    let decoded = try decode(encoder.encode(picture))
    let expected = PixelBuffer(width: 64, height: 32)
    expected.fill(background)
    expected.copy(picture, x: 0, y: 0)
    expected.composite(over: background)
    #expect(Self.psnr(expected, decoded) > 40)
    // The caller's pixels are unchanged, and a second tile of the same size is not affected by the first.
    #expect(picture.content == before)
    #expect(try encoder.encode(picture) == TileEncoder(encoder.encoding).encode(picture))
  }

  @Test(arguments: [(1, 1), (7, 300), (17, 9)])
  func oddSizesRoundTrip(_ width: Int, _ height: Int) throws {
    let encoder = TileEncoder(.jpeg(JPEGOptions()))
    let decoded = try decode(encoder.encode(Self.smooth(width: width, height: height)))
    #expect(decoded.width == width && decoded.height == height)
    #expect(encoder.format == .jpg)
  }

  @Test(arguments: [(65_501, 1), (0, 3), (3, 0)])
  func impossibleSizesAreErrors(_ width: Int, _ height: Int) {
    let error = #expect(throws: ImageError.self) {
      try TileEncoder(.jpeg(JPEGOptions())).encode(PixelBuffer(width: width, height: height))
    }
    #expect(error?.code == .encodingFailed)
  }

  @Test func otherColourSpacesDecode() throws {
    func isNear(_ a: RGBA, _ b: RGBA) -> Bool {
      abs(Int(a.red) - Int(b.red)) < 25 && abs(Int(a.green) - Int(b.green)) < 25 && abs(Int(a.blue) - Int(b.blue)) < 25
        && a.alpha == 255
    }
    let red = RGBA(red: 255, green: 0, blue: 0)
    let blue = RGBA(red: 0, green: 0, blue: 255)
    for sample in [Samples.progressiveJPEG, Samples.cmykJPEG] {
      let pixels = try decode(sample)
      #expect(isNear(pixels[8, 0], red) && isNear(pixels[8, 15], blue))
    }
    let grey = try decode(Samples.greyJPEG)
    #expect(isNear(grey[3, 0], .black) && isNear(grey[3, 15], .white))
    // Without Adobe's marker 255 is full ink, so the colours are inverted.
    var plain = Samples.cmykJPEG
    #expect(plain[2...3] == [0xff, 0xee])
    plain.removeSubrange(2..<18)
    #expect(isNear(try decode(plain)[8, 0], .black))
  }
}
