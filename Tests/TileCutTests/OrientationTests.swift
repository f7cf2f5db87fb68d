import Foundation
import TestSupport
import Testing
import TileImage

@testable import TileCut

@Suite("Orientation of images", .ownThread)
struct OrientationTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// The upright picture's pixel shows which side is which.
  private static func upright(_ x: Int, _ y: Int) -> Int { 1 + x + 10 * y }

  /// Where the stored pixel at x, y of an image of 20 x 10 upright pixels comes from, from the table in TIFF 6.0:
  /// the visual sides of the first row and of the first column.
  private static func source(_ code: Int, _ x: Int, _ y: Int) -> (x: Int, y: Int) {
    switch code {
    case 1: (x, y)  // top, left
    case 2: (19 - x, y)  // top, right
    case 3: (19 - x, 9 - y)  // bottom, right
    case 4: (x, 9 - y)  // bottom, left
    case 5: (y, x)  // left, top
    case 6: (19 - y, x)  // right, top
    case 7: (19 - y, 9 - x)  // right, bottom
    default: (y, 9 - x)  // left, bottom
    }
  }

  @Test("The tag of a flat TIFF is applied, whole and in windows; a georeferenced one stays", arguments: 1...8)
  func tiff(code: Int) throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height) = code >= 5 ? (10, 20) : (20, 10)
    fixture.tags[274] = .short([code])
    fixture.sample = { x, y, _ in
      let place = Self.source(code, x, y)
      return Double(Self.upright(place.x, place.y))
    }
    var options = RasterOpenOptions()
    options.isFlat = true
    let source = try RasterFile.open(path: fixture.write(folder), options: options)
    #expect(source.width == 20 && source.height == 10)
    let expected = (0..<200).map { grey(Self.upright($0 % 20, $0 / 20)) }
    #expect(try source.words() == expected)
    let window = PixelRect(x: 3, y: 2, width: 11, height: 5)
    #expect(try source.words(window).words == crop(expected, width: 20, window))
    #expect(source.warnings.isEmpty)

    fixture.tags.merge(TIFFFixture.placed) { own, _ in own }
    let placed = try RasterFile.open(path: fixture.write(folder, "placed.tif"), options: RasterOpenOptions())
    #expect(placed.width == fixture.width)
    #expect(
      try placed.words()
        == (0..<200).map { i in
          grey(Int(fixture.sample(i % fixture.width, i / fixture.width, 0)))
        })
    #expect(placed.warnings.contains { $0.contains("orientation") } == (code != 1))
  }

  @Test("The EXIF orientation of a flat JPEG or WebP is applied", arguments: [6, 3], [true, false])
  func exif(code: Int, isJPEG: Bool) throws {
    let (width, height) = code == 6 ? (16, 48) : (48, 16)
    let pixels = PixelBuffer(width: width, height: height)
    for i in 0..<width * height {
      // Left half black, right half white, as stored.
      let word: UInt32 = i % width < width / 2 ? 0xff00_0000 : 0xffff_ffff
      pixels.bytes.storeBytes(of: word, toByteOffset: i * 4, as: UInt32.self)
    }
    var bytes = try TileEncoder(isJPEG ? .jpeg(JPEGOptions(quality: 95)) : .webp(WebPOptions())).encode(pixels)
    let directory: [UInt8] =
      isJPEG
      ? [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(code), 0, 0, 0, 0, 0, 0]
      : [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(code), 0, 0, 0, 0, 0, 0, 0]
    if isJPEG {
      let content = Array("Exif\0\0".utf8) + directory
      bytes.insert(contentsOf: [0xff, 0xe1, 0, UInt8(content.count + 2)] + content, at: 2)
    } else {
      // The extended form: a header that announces EXIF data, the image, the data.
      let image = Array(bytes[12...])
      let header: [UInt8] =
        Array("VP8X".utf8) + [10, 0, 0, 0, 8, 0, 0, 0, UInt8(width - 1), 0, 0, UInt8(height - 1), 0, 0]
      let body =
        Array("WEBP".utf8) + header + image + Array("EXIF".utf8) + [UInt8(directory.count), 0, 0, 0] + directory
      bytes = Array("RIFF".utf8) + [UInt8(body.count & 255), UInt8(body.count >> 8), 0, 0] + body
    }
    let url = folder.url.appendingPathComponent(isJPEG ? "a.jpg" : "a.webp")
    try Data(bytes).write(to: url)
    var options = RasterOpenOptions()
    options.isFlat = true
    let source = try RasterFile.open(path: url.path, options: options)
    #expect(source.width == 48 && source.height == 16)
    let words = try source.words()
    // 6: the stored left side is the upright top; 3: it is the upright right side.
    let (black, white) = code == 6 ? (words[24], words[15 * 48 + 24]) : (words[8 * 48 + 47], words[8 * 48])
    #expect(black & 255 < 10 && white & 255 > 245, "\(black) \(white)")
  }
}
