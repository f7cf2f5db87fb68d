import Foundation
import Support
import TestSupport
import Testing
import TileCut
import TileImage
import TileIndex

@Suite("Damaged rasters", .ownThread)
struct RasterDamageTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Opens a raster and reads all of it, in windows like a cut. Returns the error, or nil.
  ///
  /// - Throws: errors that are not a ``CutError``.
  private func readAll(_ path: String, _ options: RasterOpenOptions) throws -> CutError? {
    do {
      let source = try RasterFile.open(path: path, options: options)
      let side = 256
      // A damaged header may give a huge size; reading stops early.
      for y in stride(from: 0, to: min(source.height, 4096), by: side) {
        for x in stride(from: 0, to: min(source.width, 4096), by: side) {
          _ = try source.words(
            PixelRect(x: x, y: y, width: min(side, source.width - x), height: min(side, source.height - y)))
        }
      }
      return nil
    } catch let error as CutError {
      return error
    }
  }

  private func placed() throws -> RasterOpenOptions {
    var options = RasterOpenOptions()
    options.crs = try CoordinateReferenceSystem(definition: "EPSG:4326")
    options.bounds = BoundingBox(west: -10, south: -10, east: 10, north: 10)
    return options
  }

  /// The files that can be read, with the warning that is expected.
  static let usable = [
    "byte_bigtiff_invalid_slong8_for_stripoffsets.tif", "byte_corrupted.jpg", "one_strip_nobytecount.tif",
    "tag_without_null_byte.tif",
  ]

  @Test(
    "Each malformed file gives an error, or pixels and a warning, that names the file",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func malformed() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: TestData.url("maps/malformed").path).sorted()
    #expect(names.count > 30)
    for name in names {
      let path = TestData.url("maps/malformed/\(name)").path
      // With and without options that place the raster, so that a missing georeference does not hide the damage.
      for options in [try placed(), RasterOpenOptions()] {
        let start = ThreadClock.nanoseconds
        let error = try readAll(path, options)
        #expect(ThreadClock.nanoseconds - start < 2_000_000_000, "\(name)")
        if let error {
          #expect(error.path == path && error.remedy != nil && !error.message.isEmpty, "\(name): \(error)")
        } else {
          #expect(Self.usable.contains(name), "\(name) was read without an error")
          let source = try RasterFile.open(path: path, options: options)
          #expect(source.warnings.contains { $0.hasPrefix(path) }, "\(name) was read without a warning")
        }
      }
    }
  }

  @Test(
    "Damaged pixels are reported with the block and libtiff's message",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func blockErrors() throws {
    let path = TestData.url("maps/malformed/byte_zstd_corrupted.tif").path
    let error = try #require(try readAll(path, RasterOpenOptions()))
    #expect(error.code == .badSource)
    #expect(error.message.contains("strip 0") && error.message.contains("ZSTD"))
    // A second read fails in the same way; the cache must not hold half a block.
    let source = try RasterFile.open(path: path, options: RasterOpenOptions())
    for _ in 0..<2 { #expect(throws: CutError.self) { try source.words() } }
  }

  @Test("JPEG of 12 bits is not called damaged, but to be compressed otherwise", arguments: [true, false])
  func jpegOf12Bits(isTiled: Bool) throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.bits, fixture.photometric) = (64, 64, 3, 12, 2)
    if isTiled { fixture.tile = (64, 64) } else { fixture.rowsPerStrip = 64 }
    fixture.tags = TIFFFixture.placed
    fixture.tags[259] = .short([7])
    let picture = PixelBuffer(width: 64, height: 64)
    var stream = Data(try TileEncoder(.jpeg(JPEGOptions())).encode(picture))
    // The frame header says how many bits a sample has.
    let frame = try #require(stream.firstRange(of: [0xff, 0xc0])).lowerBound
    (stream[frame + 1], stream[frame + 4]) = (0xc1, 12)
    var data = fixture.data()
    data.replaceSubrange(8..<8 + stream.count, with: stream)
    let path = folder.file("jpeg12.tif")
    try data.write(to: URL(fileURLWithPath: path))
    var options = RasterOpenOptions()
    let unscaled = try #require(try readAll(path, options)).description
    #expect(unscaled.contains("12-bit") && unscaled.contains("--scale 0,4095") && unscaled.contains("--scale auto"))
    options.scale = try SampleScale(low: 0, high: 4095)
    let error = try #require(try readAll(path, options))
    #expect(error.code == .badSource && error.message.contains("precision 12"), "\(error)")
    #expect(error.remedy?.contains("COMPRESS=DEFLATE") == true, "\(error)")
  }

  @Test(
    "The broken PNGs of the PNG suite are refused and the others are read",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func pngSuite() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: TestData.url("maps/pngsuite").path)
      .filter { $0.hasSuffix(".png") }
    #expect(names.count > 150)
    for name in names {
      var options = try placed()
      if name.hasSuffix("16.png") { options.scale = try SampleScale(low: 0, high: 65535) }
      let error = try readAll(TestData.url("maps/pngsuite/\(name)").path, options)
      #expect((error != nil) == name.hasPrefix("x"), "\(name): \(error?.description ?? "no error")")
    }
  }

  @Test("A truncated file is refused when it is opened", arguments: [false, true])
  func truncated(tiled: Bool) throws {
    var fixture = TIFFFixture()
    fixture.tags = TIFFFixture.placed
    if tiled { fixture.tile = (32, 32) }
    // The directory is at the end of the file, so its offsets are changed instead of truncating.
    fixture.tags[tiled ? 324 : 273] = .long((0..<(tiled ? 6 : 8)).map { 1000 + $0 * 1_000_000 })
    let error = #expect(throws: CutError.self) {
      try RasterFile.open(path: fixture.write(folder), options: RasterOpenOptions())
    }
    #expect(error?.code == .badSource && error?.message.contains("cut short") == true)
  }

  @Test(
    "Huge sizes in a small file's header are refused before anything is allocated",
    arguments: [
      [256: 2_000_000_000, 257: 2_000_000_000], [257: 4_294_967_295], [256: 4_000_000_000], [278: 4_294_967_295],
    ])
  func hugeClaims(tags: [Int: Int]) throws {
    var fixture = TIFFFixture()
    fixture.tags = TIFFFixture.placed
    for (tag, value) in tags { fixture.tags[tag] = .long([value]) }
    let start = ThreadClock.nanoseconds
    let error = try readAll(fixture.write(folder), RasterOpenOptions())
    // A strip with more rows than the image equals a strip of all rows.
    if tags[278] == nil { #expect(error?.code == .badSource) }
    #expect(ThreadClock.nanoseconds - start < 1_000_000_000)
  }

  @Test(
    "Files of other formats are refused, and the remedy names the supported ones",
    arguments: ["", "hello", "%PDF-1.4", "II", "\u{89}PN"])
  func otherKinds(content: String) throws {
    try folder.write("map.tif", content)
    let error = try readAll(folder.file("map.tif"), RasterOpenOptions())
    #expect(error?.code == .badSource && error?.remedy?.contains("GeoTIFF") == true)
  }

  @Test("A missing file and a folder are reported as unreadable")
  func missing() throws {
    #expect(try readAll(folder.file("none.tif"), RasterOpenOptions())?.code == .unreadableSource)
    #expect(try readAll(folder.url.path, RasterOpenOptions())?.code == .unreadableSource)
  }

  @Test("A source that is no regular file is closed once")
  func othersKeepTheirFiles() throws {
    let options = RasterOpenOptions()
    #expect(lostDescriptors(whileRunning: { _ = try? RasterFile.open(path: "/dev/null", options: options) }) == 0)
    #expect(try readAll("/dev/null", options)?.code == .unreadableSource)
  }

  @Test("Random bit flips and truncation give pixels or an error, never a crash", arguments: 0..<12)
  func mutations(layout: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var fixture = TIFFFixture(width: 40, height: 30)
    fixture.tags = TIFFFixture.placed
    fixture.tags[42113] = .text("3")
    (fixture.samples, fixture.photometric) = layout % 2 == 0 ? (3, 2) : (1, 1)
    fixture.isBigEndian = layout & 2 != 0
    fixture.isBigTIFF = layout == 5
    fixture.isSeparate = layout == 4
    if layout & 4 != 0 { fixture.tile = (16, 16) }
    if layout == 1 { fixture.mask = { x, y in x > y } }
    if layout == 7 {
      (fixture.bits, fixture.photometric) = (4, 3)
      fixture.sample = { x, y, _ in Double((x + y) % 16) }
      fixture.tags[320] = .short((0..<48).map { $0 * 1000 })
    }
    if layout >= 8 {
      (fixture.samples, fixture.bits, fixture.photometric) = (2, layout % 2 == 0 ? 4 : 16, layout < 10 ? 1 : 3)
      fixture.sample = { x, y, _ in Double((x + y) % 16) }
      fixture.tags[338] = .short([1 + layout % 2])
      if layout >= 10 { fixture.tags[320] = .short([Int](repeating: 4321, count: 3 << fixture.bits)) }
    }
    let whole = fixture.data()
    // Samples of any width and format.
    var scaled = try placed()
    scaled.scale = try SampleScale(low: 0, high: 100)
    let path = folder.file("mutant.tif")
    for round in 0..<48 {
      var data = whole
      switch round % 4 {
      case 0: data = data.prefix(Int.random(in: 0..<data.count, using: &random))
      case 1:
        // Changes bits and format of the samples.
        var other = fixture
        other.tags[258] = .short([Int](repeating: Int.random(in: 0...65, using: &random), count: fixture.samples))
        other.tags[339] = .short([Int](repeating: Int.random(in: 1...6, using: &random), count: fixture.samples))
        data = other.data()
      default:
        // Mostly at the start and the end, where the directories are.
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let tail = Int.random(in: 0..<min(600, data.count), using: &random)
          let place = round % 5 == 0 ? tail : data.count - 1 - tail
          data[place] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
        }
      }
      try data.write(to: URL(fileURLWithPath: path))
      let start = ThreadClock.nanoseconds
      do { _ = try readAll(path, round % 2 == 0 ? placed() : scaled) } catch {
        Issue.record("\(error) is no CutError; layout \(layout), round \(round), seed \(seed)")
      }
      #expect(ThreadClock.nanoseconds - start < 2_000_000_000, "layout \(layout), round \(round), seed \(seed)")
    }
  }
}
