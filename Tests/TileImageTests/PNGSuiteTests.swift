import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileImage

/// Willem van Schaik's PngSuite: every colour type, bit depth, filter, interlacing and transparency, and broken files.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct PNGSuiteTests {
  private static let folder = "maps/pngsuite"

  private static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: TestData.url("\(folder)/\(name).png")))
  }

  @Test func everyValidFileDecodesToThePixelsOfAnIndependentDecoder() throws {
    #expect(Self.checksums.count == 161)
    for (name, expected) in Self.checksums {
      let pixels = try decode(Self.bytes(name))
      let crc = Deflater.crc32(pixels.bytes, count: pixels.byteCount)
      #expect(crc == expected, "\(name)")
    }
  }

  @Test func rowReaderGivesTheSamePixels() throws {
    for name in Self.checksums.keys.sorted() {
      let expected = try decode(Self.bytes(name))
      let reader = try PNGRowReader(path: TestData.url("\(Self.folder)/\(name).png").path)
      #expect(reader.width == expected.width && reader.height == expected.height)
      // In the suite's file names, i is interlaced and n is not.
      if name != "PngSuite" { #expect(reader.isInterlaced == (name.dropFirst(3).first == "i")) }
      try reader.start(.rgba8)
      #expect(reader.passCount == (reader.isInterlaced ? 7 : 1))
      #expect(reader.rowBytes == expected.rowBytes && reader.outputChannels == 4)
      let pixels = PixelBuffer(width: reader.width, height: reader.height)
      for _ in 0..<reader.passCount {
        for row in 0..<reader.height { try reader.readRow(into: pixels.bytes + row * pixels.rowBytes) }
      }
      #expect(pixels.difference(from: expected) == nil, "\(name)")
    }
  }

  @Test func nativeSamplesScaleToTheSamePixels() throws {
    for name in Self.checksums.keys.sorted() {
      let expected = try decode(Self.bytes(name))
      let reader = try PNGRowReader(path: TestData.url("\(Self.folder)/\(name).png").path)
      try reader.start(.native16)
      let channels = reader.outputChannels
      #expect(channels == reader.nativeChannels, "\(name)")
      #expect(reader.rowBytes == reader.width * channels * 2)
      var samples = [UInt16](repeating: 0, count: reader.height * reader.width * channels)
      try samples.withUnsafeMutableBytes { samples in
        for _ in 0..<reader.passCount {
          for row in 0..<reader.height { try reader.readRow(into: samples.baseAddress! + row * reader.rowBytes) }
        }
      }
      let pixels = PixelBuffer(width: reader.width, height: reader.height)
      for i in 0..<(reader.width * reader.height) {
        func sample(_ channel: Int) -> UInt8 { UInt8((Int(samples[i * channels + channel]) + 128) / 257) }
        let colours = channels > 2 ? [0, 1, 2] : [0, 0, 0]
        pixels[i % reader.width, i / reader.width] = RGBA(
          red: sample(colours[0]), green: sample(colours[1]), blue: sample(colours[2]),
          alpha: reader.hasAlpha ? sample(channels - 1) : 255)
      }
      #expect(pixels.difference(from: expected) == nil, "\(name)")
    }
  }

  @Test(arguments: [
    "xc1n0g08", "xc9n2c08", "xcrn0g04", "xcsn0g01", "xd0n2c08", "xd3n2c08", "xd9n2c08", "xdtn0g01", "xhdn0g08",
    "xlfn0g04",
    "xs1n0g01", "xs2n0g01", "xs4n0g01", "xs7n0g01",
  ])
  func brokenFilesAreMalformed(_ name: String) throws {
    let bytes = try Self.bytes(name)
    let error = #expect(throws: ImageError.self) {
      try bytes.withUnsafeBytes { try ImageDecoder.decode($0, format: .png) }
    }
    #expect(error?.code == .malformed)
    #expect(error?.message.isEmpty == false)
    let path = TestData.url("\(Self.folder)/\(name).png").path
    #expect(throws: ImageError.self) {
      let reader = try PNGRowReader(path: path)
      try reader.start(.rgba8)
      var row = [UInt8](repeating: 0, count: reader.rowBytes)
      for _ in 0..<reader.height * reader.passCount {
        try row.withUnsafeMutableBytes { try reader.readRow(into: $0.baseAddress!) }
      }
    }
  }

  /// CRC-32 of the RGBA8 pixels (transparent ones all zero, 16 bits scaled to 8 and rounded), from an independent
  /// decoder in Python.
  private static let checksums: [String: UInt32] = {
    var table: [String: UInt32] = [:]
    let words = checksumText.split { $0 == " " || $0 == "\n" }
    for i in stride(from: 0, to: words.count, by: 2) { table[String(words[i])] = UInt32(words[i + 1], radix: 16) }
    return table
  }()

  private static let checksumText = """
    PngSuite c3a88ff4  basi0g01 0da28714  basi0g02 2e3fe285  basi0g04 8d0f641b  basi0g08 c395683c  basi0g16 463d7e4c
    basi2c08 2fb54036  basi2c16 67290c15  basi3p01 4d8431a4  basi3p02 e4dbb6bc  basi3p04 671f880f  basi3p08 39528682
    basi4a08 39391512  basi4a16 32242bb5  basi6a08 12bc87cf  basi6a16 9017d286  basn0g01 0da28714  basn0g02 2e3fe285
    basn0g04 8d0f641b  basn0g08 c395683c  basn0g16 463d7e4c  basn2c08 2fb54036  basn2c16 67290c15  basn3p01 4d8431a4
    basn3p02 e4dbb6bc  basn3p04 671f880f  basn3p08 39528682  basn4a08 39391512  basn4a16 32242bb5  basn6a08 12bc87cf
    basn6a16 9017d286  bgai4a08 39391512  bgai4a16 32242bb5  bgan6a08 12bc87cf  bgan6a16 9017d286  bgbn4a08 39391512
    bggn4a16 32242bb5  bgwn6a08 12bc87cf  bgyn6a16 9017d286  ccwn2c08 40a6a67c  ccwn3p08 9192bfaa  cdfn2c08 2af2ddf8
    cdhn2c08 23cb0319  cdsn2c08 d81f3e6b  cdun2c08 878a46a3  ch1n3p04 671f880f  ch2n3p08 39528682  cm0n0g04 b743ec84
    cm7n0g04 b743ec84  cm9n0g04 b743ec84  cs3n2c16 b3a5c271  cs3n3p08 e1ccec94  cs5n2c08 8423bc98  cs5n3p08 8423bc98
    cs8n2c08 0a0758b6  cs8n3p08 0a0758b6  ct0n0g04 b743ec84  ct1n0g04 b743ec84  cten0g04 77c3d4de  ctfn0g04 fb03c836
    ctgn0g04 1495e441  cthn0g04 6b22f4da  ctjn0g04 7ac255fd  ctzn0g04 b743ec84  f00n0g08 0b907dec  f00n2c08 9ad4b08b
    f01n0g08 2119c97f  f01n2c08 e31d06f2  f02n0g08 c03634d7  f02n2c08 ba0d4b27  f03n0g08 3a9c7b91  f03n2c08 6d296175
    f04n0g08 28fca0b1  f04n2c08 c5c4baad  f99n0g04 f8617313  g03n0g16 7c364c58  g03n2c08 f6882c1f  g03n3p04 13427f49
    g04n0g16 71d8adfd  g04n2c08 92bcece3  g04n3p04 8441c56f  g05n0g16 f968c4a8  g05n2c08 754dcc75  g05n3p04 2788ce48
    g07n0g16 3bd60fba  g07n2c08 304cc4f1  g07n3p04 3977f102  g10n0g16 a360b8f0  g10n2c08 6df63c8c  g10n3p04 810df60d
    g25n0g16 1197ce63  g25n2c08 f3f12041  g25n3p04 fb71efa9  oi1n0g16 463d7e4c  oi1n2c16 67290c15  oi2n0g16 463d7e4c
    oi2n2c16 67290c15  oi4n0g16 463d7e4c  oi4n2c16 67290c15  oi9n0g16 463d7e4c  oi9n2c16 67290c15  pp0n2c16 67290c15
    pp0n6a08 b97dbef5  ps1n0g08 c395683c  ps1n2c16 67290c15  ps2n0g08 c395683c  ps2n2c16 67290c15  s01i3p01 9f62cde3
    s01n3p01 9f62cde3  s02i3p01 fc958ebf  s02n3p01 fc958ebf  s03i3p01 f53615d1  s03n3p01 f53615d1  s04i3p01 ce2b2aa8
    s04n3p01 ce2b2aa8  s05i3p02 71f99a5f  s05n3p02 71f99a5f  s06i3p02 1707ae6e  s06n3p02 1707ae6e  s07i3p02 f3a27b20
    s07n3p02 f3a27b20  s08i3p02 2eb65a34  s08n3p02 2eb65a34  s09i3p02 44d29bb4  s09n3p02 44d29bb4  s32i3p04 9410d2a5
    s32n3p04 9410d2a5  s33i3p04 d001d86b  s33n3p04 d001d86b  s34i3p04 17cfe1ad  s34n3p04 17cfe1ad  s35i3p04 b8c8407d
    s35n3p04 b8c8407d  s36i3p04 d5aec69b  s36n3p04 d5aec69b  s37i3p04 a1563224  s37n3p04 a1563224  s38i3p04 bdaf2e8a
    s38n3p04 bdaf2e8a  s39i3p04 5cb9f129  s39n3p04 5cb9f129  s40i3p04 bf29afa5  s40n3p04 bf29afa5  tbbn0g04 9e8acb67
    tbbn2c16 c2349264  tbbn3p08 88e5d1a5  tbgn2c16 c2349264  tbgn3p08 88e5d1a5  tbrn2c08 c2349264  tbwn0g16 04a00e59
    tbwn3p08 88e5d1a5  tbyn3p08 88e5d1a5  tm3n3p02 115c062c  tp0n0g08 57965874  tp0n2c08 679d24b4  tp0n3p08 130aa165
    tp1n3p08 88e5d1a5  z00n2c08 67290c15  z03n2c08 67290c15  z06n2c08 67290c15  z09n2c08 67290c15
    """
}
