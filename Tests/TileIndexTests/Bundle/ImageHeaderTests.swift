import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct ImageHeaderTests {
  func header(_ bytes: [UInt8]) -> ImageHeader? { bytes.withUnsafeBytes { ImageHeader($0) } }

  @Test func sizesAreReadFromHeaders() {
    for (width, height) in [(256, 256), (512, 511), (1, 16383), (3, 1)] {
      let images: [([UInt8], TileFormat)] = [
        (Images.png(width: width, height: height), .png), (Images.jpeg(width: width, height: height), .jpg),
        (Images.jpeg(width: width, height: height, marker: 0xc2), .jpg),
        (Images.webp("VP8 ", width: width, height: height), .webp),
        (Images.webp("VP8L", width: width, height: height), .webp),
        (Images.webp("VP8X", width: width, height: height), .webp),
      ]
      for (bytes, format) in images {
        let found = header(bytes)
        #expect(found?.format == format && found?.width == width && found?.height == height)
      }
    }
    #expect(header(Images.grey256)?.width == 256)
  }

  /// A truncated header is nil or unchanged, and nothing is read beyond the end.
  @Test func truncatedHeadersAreNil() {
    for bytes in [
      Images.png(width: 256, height: 256), Images.jpeg(width: 256, height: 256),
      Images.webp("VP8 ", width: 256, height: 256), Images.webp("VP8L", width: 256, height: 256),
      Images.webp("VP8X", width: 256, height: 256),
    ] {
      for count in 0..<bytes.count {
        let found = header(Array(bytes.prefix(count)))
        #expect(found == nil || found == header(bytes))
      }
      #expect(header(Array(bytes.prefix(20))) == nil)
    }
  }

  @Test func randomBytesNeverTrap() {
    var random = SeededGenerator(seed: 61)
    let heads: [[UInt8]] = [
      Array(Images.png(width: 1, height: 1).prefix(8)), [0xff, 0xd8, 0xff],
      Array(Images.webp("VP8 ", width: 1, height: 1).prefix(12)),
    ]
    for _ in 0..<3_000 {
      let tail = (0..<Int.random(in: 0...60, using: &random)).map { _ in
        // Frequent 0xff bytes produce markers.
        Bool.random(using: &random) ? 0xff : UInt8.random(in: 0...255, using: &random)
      }
      if let found = header(heads.randomElement(using: &random)! + tail) {
        #expect(found.width > 0 && found.height > 0)
      }
    }
  }

  @Test func otherContentsAreNil() {
    #expect(header([]) == nil)
    #expect(header([0x1f, 0x8b, 8, 0]) == nil)
    #expect(header(Images.png(width: 0, height: 5)) == nil)
    #expect(header([0xff, 0xd8, 0xff, 0xda, 0, 2, 1]) == nil)
    #expect(header([0xff, 0xd8, 0xff, 0xd9]) == nil)
    // Segments of length 0 must not loop forever.
    #expect(header([0xff, 0xd8] + [UInt8](repeating: 0, count: 40)) == nil)
  }
}
