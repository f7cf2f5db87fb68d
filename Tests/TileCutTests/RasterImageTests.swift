import Foundation
import TestSupport
import Testing
import TileCut
import TileImage
import TileIndex

@Suite("PNG and JPEG sources", .ownThread)
struct RasterImageTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func options(cacheBytesMax: Int = 64 << 20) -> RasterOpenOptions {
    RasterOpenOptions(
      bounds: BoundingBox(west: -10, south: -10, east: 10, north: 10), cacheBytesMax: cacheBytesMax,
      scratchDirectory: folder.url.path)
  }

  /// A picture of many colours, optionally with transparent and partly transparent pixels.
  private func picture(width: Int, height: Int, alpha: (Int, Int) -> Int = { _, _ in 255 }) -> [UInt32] {
    (0..<width * height).map { i in
      let (x, y) = (i % width, i / width)
      return rgba((x * 7 + y) % 256, (x + y * 3) % 256, (x * y) % 256, alpha(x, y))
    }
  }

  private func write(_ words: [UInt32], width: Int, _ encoding: TileEncoding, _ name: String) throws -> String {
    let buffer = PixelBuffer(width: width, height: words.count / width)
    words.withUnsafeBytes { buffer.bytes.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    try Data(TileEncoder(encoding).encode(buffer)).write(to: folder.url.appendingPathComponent(name))
    return folder.file(name)
  }

  @Test("A PNG gives the same pixels from memory and from a scratch file", arguments: [64 << 20, 40_000])
  func png(cacheBytesMax: Int) throws {
    let kinds: [(AlphaKind, (Int, Int) -> Int)] = [
      (.opaque, { _, _ in 255 }), (.soft, { x, y in (x + y) % 256 }), (.soft, { x, _ in x < 200 ? 0 : 255 }),
    ]
    for (kind, alpha) in kinds {
      let words = picture(width: 300, height: 270, alpha: alpha)
      let path = try write(words, width: 300, .png(PNGOptions()), "map.png")
      let source = try RasterFile.open(path: path, options: options(cacheBytesMax: cacheBytesMax))
      #expect(source.alphaKind == kind)
      #expect(try source.words() == words)
      let window = PixelRect(x: 250, y: 200, width: 50, height: 70)
      let part = try source.words(window)
      #expect(part.words == crop(words, width: 300, window))
      #expect(part.isOpaque == part.words.allSatisfy { $0 >> 24 == 255 })
    }
    // The scratch file has no name in the directory.
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["map.png"])
  }

  @Test("Grey images and palettes are read", arguments: [64 << 20, 20_000])
  func greyAndPalette(cacheBytesMax: Int) throws {
    let ramp = (0..<200 * 300).map { grey(($0 % 200 + $0 / 200) % 256) }
    var path = try write(ramp, width: 200, .png(PNGOptions()), "grey.png")
    #expect(try RasterFile.open(path: path, options: options(cacheBytesMax: cacheBytesMax)).words() == ramp)
    let few = (0..<200 * 300).map { i in i % 7 == 0 ? 0 : rgba(i % 5 * 50, 10, 20) }
    path = try write(few, width: 200, .png(PNGOptions()), "few.png")
    let source = try RasterFile.open(path: path, options: options(cacheBytesMax: cacheBytesMax))
    #expect(try source.words() == few)
    #expect(source.alphaKind == .mask)
  }

  @Test("A JPEG gives the decoder's pixels, from memory and from a scratch file", arguments: [64 << 20, 40_000])
  func jpeg(cacheBytesMax: Int) throws {
    let words = picture(width: 300, height: 270)
    let path = try write(words, width: 300, .jpeg(JPEGOptions(quality: 90)), "map.jpg")
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    let decoded = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    let expected = Array(
      UnsafeBufferPointer(start: decoded.bytes.assumingMemoryBound(to: UInt32.self), count: 300 * 270))
    let source = try RasterFile.open(path: path, options: options(cacheBytesMax: cacheBytesMax))
    #expect(try source.words() == expected)
    #expect(source.alphaKind == .opaque)
    #expect(try source.words(PixelRect(x: 1, y: 1, width: 10, height: 10)).isOpaque)
  }

  @Test("The mask in the file beside an image hides pixels", arguments: ["png", "jpg", "webp"])
  func maskBeside(format: String) throws {
    let encoding: TileEncoding =
      format == "png" ? .png(PNGOptions()) : format == "jpg" ? .jpeg(JPEGOptions(quality: 80)) : .webp(WebPOptions())
    let path = try write(picture(width: 70, height: 50), width: 70, encoding, "map.\(format)")
    func opened() throws -> any RasterSource { try RasterFile.open(path: path, options: options()) }
    let plain = try opened()
    var mask = TIFFFixture()
    mask.sample = { x, y, _ in (x / 5 + y / 3) % 2 == 0 ? 255 : 0 }
    try FileManager.default.moveItem(atPath: mask.write(folder, "mask.tif"), toPath: "\(path).msk")
    let masked = try opened()
    #expect(plain.alphaKind == .opaque && masked.alphaKind == .mask)
    let words = try plain.words()
    #expect(try masked.words() == words.indices.map { ($0 % 70 / 5 + $0 / 70 / 3) % 2 == 0 ? words[$0] : 0 })
    // A mask of another size belongs to another image.
    mask.width = 71
    try FileManager.default.removeItem(atPath: "\(path).msk")
    try FileManager.default.moveItem(atPath: mask.write(folder, "mask.tif"), toPath: "\(path).msk")
    #expect(try opened().words() == words)
  }

  @Test("Nodata values and scales apply to PNG and JPEG, too")
  func nodataAndScale() throws {
    let words = (0..<60 * 10).map { i in i % 60 < 30 ? rgba(1, 2, 3) : rgba(i % 256, 50, 100) }
    let path = try write(words, width: 60, .png(PNGOptions()), "map.png")
    var some = options()
    some.nodata = [1, 2, 3]
    var source = try RasterFile.open(path: path, options: some)
    #expect(source.alphaKind == .mask)
    #expect(try source.words() == words.map { $0 == rgba(1, 2, 3) ? 0 : $0 })
    some.nodata = nil
    some.scale = try SampleScale(low: 0, high: 100)
    source = try RasterFile.open(path: path, options: some)
    #expect(try source.words()[59] == rgba(min(255, Int(59 * 2.55 + 0.5)), 128, 255))
    some.nodata = [1, 2]
    #expect(throws: CutError.self) { try RasterFile.open(path: path, options: some) }
  }

  @Test("The error for an unwritable scratch directory names it")
  func unwritableScratchFolderIsNamed() throws {
    let path = try write(picture(width: 300, height: 270), width: 300, .png(PNGOptions()), "map.png")
    var some = options(cacheBytesMax: 1000)
    some.scratchDirectory = folder.file("missing")
    let error = #expect(throws: CutError.self) { try RasterFile.open(path: path, options: some) }
    #expect(error?.code == .unwritableOutput && error?.path == some.scratchDirectory)
    #expect(error?.remedy?.contains("TMPDIR") == true)
  }

  @Test(
    "World files place images",
    arguments: [("map.png", "pgw"), ("map.png", "pngw"), ("map.png", "wld"), ("map.jpg", "JGW")])
  func worldFiles(name: String, suffix: String) throws {
    let encoding: TileEncoding = name.hasSuffix("png") ? .png(PNGOptions()) : .jpeg(JPEGOptions())
    let path = try write(picture(width: 20, height: 20), width: 20, encoding, name)
    try folder.write("map.\(suffix)", "0.5\n0\n0\n-0.5\n-126.0\n51\n")
    try folder.write("map.prj", "EPSG:4326")
    let source = try RasterFile.open(path: path, options: RasterOpenOptions())
    #expect(source.georeference.affine == Affine(a: 0.5, b: 0, c: -126.25, d: 0, e: -0.5, f: 51.25))
    #expect(source.georeference.crs.isWGS84LongLat)
  }

  @Test("The format is detected from the content, not from the name")
  func misnamed() throws {
    let words = picture(width: 30, height: 30)
    let path = try write(words, width: 30, .png(PNGOptions()), "photo.jpg")
    #expect(try RasterFile.open(path: path, options: options()).words() == words)
  }

  @Test(
    "Interlaced PNGs give the same pixels as plain ones",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      "0g01", "0g02", "0g04", "0g08", "0g16", "2c08", "2c16", "3p01", "3p02", "3p04", "3p08", "4a08", "4a16", "6a08",
      "6a16",
    ])
  func interlaced(kind: String) throws {
    let plain = TestData.url("maps/pngsuite/basn\(kind).png").path
    let interlaced = TestData.url("maps/pngsuite/basi\(kind).png").path
    var some = options()
    if kind.hasSuffix("16") {
      #expect(throws: CutError.self) { try RasterFile.open(path: interlaced, options: some) }
      some.scale = try SampleScale(low: 0, high: 65535)
    }
    let expected = try RasterFile.open(path: plain, options: some).words()
    #expect(try RasterFile.open(path: interlaced, options: some).words() == expected)
    // Deinterlaced in a scratch file.
    some.cacheBytesMax = 500
    #expect(try RasterFile.open(path: interlaced, options: some).words() == expected)
  }
}
