import Foundation
import TestSupport
import Testing
import TileCut

@Suite("TIFF pixels", .ownThread)
struct RasterTIFFTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func open(_ fixture: TIFFFixture, _ options: RasterOpenOptions = RasterOpenOptions()) throws
    -> any RasterSource
  {
    var fixture = fixture
    fixture.tags.merge(TIFFFixture.placed) { own, _ in own }
    return try RasterFile.open(path: fixture.write(folder, "\(UUID().uuidString).tif"), options: options)
  }

  private func expect(
    _ source: any RasterSource, _ fixture: TIFFFixture, _ alphaKind: AlphaKind,
    sourceLocation: SourceLocation = #_sourceLocation, _ pixel: (Int, Int) -> UInt32
  ) throws {
    let words = try source.words()
    let wrong = (0..<words.count).first { words[$0] != pixel($0 % fixture.width, $0 / fixture.width) }
    if let wrong {
      let (x, y) = (wrong % fixture.width, wrong / fixture.width)
      Issue.record(
        "pixel \(x),\(y) is \(String(words[wrong], radix: 16)), not \(String(pixel(x, y), radix: 16))",
        sourceLocation: sourceLocation)
    }
    #expect(source.alphaKind == alphaKind, sourceLocation: sourceLocation)
  }

  static let layouts: [(String, @Sendable (inout TIFFFixture) -> Void)] = [
    ("strips", { _ in }),
    ("one strip", { $0.rowsPerStrip = 50 }),
    ("strips of a row", { $0.rowsPerStrip = 1 }),
    ("tiles", { $0.tile = (32, 16) }),
    ("big-endian strips", { $0.isBigEndian = true }),
    ("BigTIFF tiles", { ($0.isBigTIFF, $0.tile) = (true, (16, 32)) }),
    ("big-endian BigTIFF strips", { ($0.isBigTIFF, $0.isBigEndian) = (true, true) }),
    ("separate strips", { $0.isSeparate = true }),
    ("separate tiles", { ($0.isSeparate, $0.tile) = (true, (48, 16)) }),
  ]

  @Test("Every layout of every colour model gives the same pixels", arguments: layouts.map(\.0))
  func everyLayout(name: String) throws {
    let change = Self.layouts.first { $0.0 == name }!.1
    var fixture = TIFFFixture()
    change(&fixture)
    func value(_ x: Int, _ y: Int, _ band: Int) -> Int { Int(fixture.sample(x, y, band)) }

    try expect(open(fixture), fixture, .opaque) { grey(value($0, $1, 0)) }

    fixture.samples = 3
    fixture.photometric = 2
    try expect(open(fixture), fixture, .opaque) { rgba(value($0, $1, 0), value($0, $1, 1), value($0, $1, 2)) }

    fixture.samples = 4
    fixture.tags[338] = .short([2])
    try expect(open(fixture), fixture, .soft) {
      rgba(value($0, $1, 0), value($0, $1, 1), value($0, $1, 2), value($0, $1, 3))
    }

    fixture.samples = 2
    fixture.photometric = 1
    try expect(open(fixture), fixture, .soft) {
      rgba(value($0, $1, 0), value($0, $1, 0), value($0, $1, 0), value($0, $1, 1))
    }
  }

  @Test(
    "Of blocks that are much larger than the raster only its part is decoded",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)), arguments: ["PIXEL", "BAND"])
  func largeBlocks(interleave: String) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric, fixture.tags) = (3, 2, TIFFFixture.placed)
    let path = folder.file("large.tif")
    try GDALPrograms.make(
      "gdal_translate", "-co", "TILED=YES", "-co", "BLOCKXSIZE=16384", "-co", "BLOCKYSIZE=16384",
      "-co", "COMPRESS=PACKBITS", "-co", "INTERLEAVE=\(interleave)", try fixture.write(folder), path)
    func value(_ x: Int, _ y: Int, _ band: Int) -> Int { Int(fixture.sample(x, y, band)) }
    try expect(RasterFile.open(path: path, options: RasterOpenOptions()), fixture, .opaque) {
      rgba(value($0, $1, 0), value($0, $1, 1), value($0, $1, 2))
    }
  }

  @Test(
    "Samples of 1, 2 and 4 bits are read as grey and palette, in strips and tiles", arguments: [1, 2, 4], [false, true])
  func fewBits(bits: Int, tiled: Bool) throws {
    let levels = 1 << bits
    var fixture = TIFFFixture()
    fixture.bits = bits
    if tiled { fixture.tile = (32, 16) }
    fixture.sample = { x, y, _ in Double((x + 3 * y) % levels) }
    func value(_ x: Int, _ y: Int) -> Int { Int(fixture.sample(x, y, 0)) }
    try expect(open(fixture), fixture, .opaque) { grey(value($0, $1) * 255 / (levels - 1)) }

    fixture.photometric = 0
    try expect(open(fixture), fixture, .opaque) { grey(255 - value($0, $1) * 255 / (levels - 1)) }

    fixture.photometric = 3
    let red = (0..<levels).map { ($0 * 37 + 11) % 256 }
    fixture.tags[320] = .short(red.map { $0 * 257 } + red.map { (255 - $0) * 257 } + red.map { _ in 257 })
    try expect(open(fixture), fixture, .opaque) { x, y in rgba(red[value(x, y)], 255 - red[value(x, y)], 1) }

    try expect(open(fixture, RasterOpenOptions(nodata: [1])), fixture, .mask) { x, y in
      value(x, y) == 1 ? 0 : rgba(red[value(x, y)], 255 - red[value(x, y)], 1)
    }
  }

  @Test("In MinIsWhite zero is white, and nodata values refer to stored samples")
  func minIsWhite() throws {
    var fixture = TIFFFixture()
    fixture.photometric = 0
    fixture.tags[42113] = .text("0")
    try expect(open(fixture), fixture, .mask) { x, y in
      let value = Int(fixture.sample(x, y, 0))
      return value == 0 ? 0 : grey(255 - value)
    }
  }

  @Test("A pixel is nodata if all its bands are")
  func nodata() throws {
    var fixture = TIFFFixture()
    fixture.samples = 3
    fixture.photometric = 2
    fixture.sample = { x, y, band in x % 4 == 0 ? 9 : x % 4 == 1 && band == 0 ? 9 : Double(40 + band) }
    fixture.tags[42113] = .text("9")
    try expect(open(fixture), fixture, .mask) { x, _ in
      x % 4 == 0 ? 0 : x % 4 == 1 ? rgba(9, 41, 42) : rgba(40, 41, 42)
    }
    // The user's values override the file's.
    try expect(open(fixture, RasterOpenOptions(nodata: [40, 41, 42])), fixture, .mask) { x, _ in
      x % 4 == 0 ? rgba(9, 9, 9) : x % 4 == 1 ? rgba(9, 41, 42) : 0
    }
    let error = #expect(throws: CutError.self) { try open(fixture, RasterOpenOptions(nodata: [1, 2])) }
    #expect(error?.code == .invalidOption)
  }

  @Test("Premultiplied colours are divided by alpha")
  func associatedAlpha() throws {
    var fixture = TIFFFixture()
    fixture.samples = 4
    fixture.photometric = 2
    fixture.tags[338] = .short([1])
    fixture.sample = { x, _, band in band == 3 ? Double(x * 3) : Double(x * 3 * (band + 1) * 60 / 255) }
    try expect(open(fixture), fixture, .soft) { x, _ in
      let a = x * 3
      guard a > 0 else { return 0 }
      let c = (0..<3).map { min(255, (a * ($0 + 1) * 60 / 255 * 255 + a / 2) / a) }
      return rgba(c[0], c[1], c[2], a)
    }
  }

  static let wideSamples: [(bits: Int, format: Int)] = [
    (16, 1), (16, 2), (32, 1), (32, 2), (64, 1), (64, 2), (16, 3), (32, 3), (64, 3), (8, 2),
  ]

  @Test("Wide samples are scaled linearly, rounded and clamped", arguments: wideSamples, [false, true])
  func scale(sample: (bits: Int, format: Int), isBigEndian: Bool) throws {
    var fixture = TIFFFixture()
    (fixture.bits, fixture.format, fixture.isBigEndian) = (sample.bits, sample.format, isBigEndian)
    let low = sample.format == 1 || (sample.format == 3 && sample.bits == 16) ? 0 : -100
    fixture.sample = { x, _, _ in Double(low + x * 2) }
    let options = try RasterOpenOptions(scale: SampleScale(low: Double(low + 10), high: Double(low + 110)))
    let kind: AlphaKind = sample.format == 3 ? .mask : .opaque
    try expect(open(fixture, options), fixture, kind) { x, _ in
      grey(max(0, min(255, Int((Double((x * 2 - 10) * 255) / 100 + 0.5).rounded(.down)))))
    }
    let error = #expect(throws: CutError.self) { try open(fixture) }
    #expect(error?.code == .badSource)
    let text = error?.description ?? ""
    #expect(text.contains("--scale \(low),\(low + 138)"), "\(text) does not suggest the range of the values")
  }

  @Test("NaN and nodata floats are transparent")
  func floatNodata() throws {
    var fixture = TIFFFixture()
    (fixture.bits, fixture.format) = (32, 3)
    fixture.sample = { x, _, _ in x % 3 == 0 ? .nan : x % 3 == 1 ? -3.4e38 : 5 }
    fixture.tags[42113] = .text("-3.4e+38")
    let options = try RasterOpenOptions(scale: SampleScale(low: 0, high: 10))
    try expect(open(fixture, options), fixture, .mask) { x, _ in x % 3 == 2 ? grey(128) : 0 }
    fixture.tags[42113] = .text("nan")
    try expect(open(fixture, options), fixture, .mask) { x, _ in x % 3 == 2 ? grey(128) : x % 3 == 1 ? grey(0) : 0 }
  }

  @Test("Sixteen-bit colours and alpha are scaled separately")
  func wideRGBA() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.bits, fixture.photometric) = (4, 16, 2)
    fixture.tags[338] = .short([2])
    fixture.sample = { x, _, band in band == 3 ? Double(x * 257) : Double(1000 * band + 500) }
    let options = try RasterOpenOptions(scale: SampleScale(low: 0, high: 2550))
    try expect(open(fixture, options), fixture, .soft) { x, _ in rgba(50, 150, 250, x) }
  }

  @Test("A sixteen-bit palette needs no scale")
  func widePalette() throws {
    var fixture = TIFFFixture()
    (fixture.bits, fixture.photometric) = (16, 3)
    fixture.sample = { x, y, _ in Double(x * 900 + y) }
    let ramp = (0..<65536).map { $0 / 256 * 257 }
    fixture.tags[320] = .short(ramp + ramp.reversed() + [Int](repeating: 0, count: 65536))
    try expect(open(fixture), fixture, .opaque) { x, y in
      let index = x * 900 + y
      return rgba(index / 256, (65535 - index) / 256, 0)
    }
  }

  @Test("A warning names bands that are not used", arguments: [(5, 2, true), (4, 2, true), (6, 1, true), (3, 1, true)])
  func extraBands(samples: Int, photometric: Int, warns: Bool) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (samples, photometric)
    if photometric == 2 { fixture.tags[338] = .short([Int](repeating: 0, count: samples - 3)) }
    let source = try open(fixture)
    #expect(source.warnings.count == 1 && source.warnings[0].hasPrefix(source.path))
    let isRGB = photometric == 2 || samples == 3
    try expect(source, fixture, .opaque) { x, y in
      let value = (0..<3).map { Int(fixture.sample(x, y, $0)) }
      return isRGB ? rgba(value[0], value[1], value[2]) : grey(value[0])
    }
  }

  @Test("The mask in a file hides pixels", arguments: [1, 3])
  func mask(samples: Int) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (samples, samples == 3 ? 2 : 1)
    fixture.tile = (32, 32)
    fixture.mask = { x, y in (x / 5 + y / 3) % 2 == 0 }
    try expect(open(fixture), fixture, .mask) { x, y in
      guard fixture.mask!(x, y) else { return 0 }
      let v = (0..<3).map { Int(fixture.sample(x, y, samples == 3 ? $0 : 0)) }
      return rgba(v[0], v[1], v[2])
    }
  }

  @Test("The mask in the file beside a TIFF hides pixels", arguments: [1, 3])
  func maskBeside(samples: Int) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (samples, samples == 3 ? 2 : 1)
    let path = try fixture.write(folder)
    @Sendable func isVisible(_ x: Int, _ y: Int) -> Bool { (x / 5 + y / 3) % 2 == 0 }
    var mask = TIFFFixture()
    mask.sample = { x, y, _ in isVisible(x, y) ? 255 : 0 }
    try FileManager.default.moveItem(atPath: mask.write(folder, "mask.tif"), toPath: "\(path).msk")
    var flat = RasterOpenOptions()
    flat.isFlat = true
    try expect(RasterFile.open(path: path, options: flat), fixture, .mask) { x, y in
      guard isVisible(x, y) else { return 0 }
      let v = (0..<3).map { Int(fixture.sample(x, y, samples == 3 ? $0 : 0)) }
      return rgba(v[0], v[1], v[2])
    }
  }

  @Test("Blocks missing in the file are transparent", arguments: [false, true])
  func sparse(tiled: Bool) throws {
    var fixture = TIFFFixture()
    if tiled { fixture.tile = (16, 16) }
    fixture.missing = [0, 3, 4]
    let source = try open(fixture)
    try expect(source, fixture, .mask) { x, y in
      let block = tiled ? y / 16 * 5 + x / 16 : y / 7
      return fixture.missing.contains(block) ? 0 : grey(Int(fixture.sample(x, y, 0)))
    }
    let count = tiled ? "3 of 20" : "3 of 8"
    #expect(source.warnings.contains { $0.contains("\(count) blocks are missing in the file") }, "\(source.warnings)")
    // GDAL shows nothing there either.
    fixture.tags[42113] = .text("0")
    #expect(try open(fixture).warnings.isEmpty)
    fixture.tags[42113] = nil
    #expect(try source.words(PixelRect(x: 65, y: 49, width: 1, height: 1)).isOpaque)
    #expect(try !source.words(PixelRect(x: 0, y: 0, width: 1, height: 1)).isOpaque)
    fixture.missing = Set(0..<40)
    #expect(throws: CutError.self) { try open(fixture) }
  }

  /// Of more than a million blocks every second one is checked.
  @Test func aBlockBetweenThoseThatAreCheckedIsFound() throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.tile) = (1025 * 16, 1025 * 16, (16, 16))
    fixture.tags[33550] = .double([0.001, 0.001, 0])
    fixture.missing = Set(0..<1025 * 1025)
    #expect(throws: CutError.self) { try open(fixture) }
    fixture.missing.remove(1)
    let source = try open(fixture)
    #expect(try source.words(PixelRect(x: 16, y: 0, width: 16, height: 16)).isOpaque)
    #expect(try !source.words(PixelRect(x: 0, y: 0, width: 16, height: 16)).isOpaque)
  }

  @Test(
    "Any window of any layout equals that part of the whole raster, and reports correctly whether it is opaque",
    arguments: layouts.map(\.0))
  func windows(name: String) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric, fixture.width, fixture.height) = (3, 2, 211, 157)
    Self.layouts.first { $0.0 == name }!.1(&fixture)
    // Mostly opaque, so that both answers occur.
    fixture.sample = { x, y, band in x > 150 && y > 100 ? 7 : Double(8 + (x + y * 3 + band) % 200) }
    fixture.tags[42113] = .text("7")
    // A cache far smaller than the raster.
    let source = try open(fixture, RasterOpenOptions(cacheBytesMax: 20_000))
    let whole = try source.words()
    for _ in 0..<60 {
      let width = Int.random(in: 1...211, using: &random)
      let height = Int.random(in: 1...157, using: &random)
      let x = Int.random(in: 0...211 - width, using: &random)
      let y = Int.random(in: 0...157 - height, using: &random)
      let window = PixelRect(x: x, y: y, width: width, height: height)
      let part = try source.words(window)
      let expected = crop(whole, width: 211, window)
      #expect(part.words == expected, "\(window), seed \(seed)")
      #expect(part.isOpaque == expected.allSatisfy { $0 >> 24 == 255 }, "\(window), seed \(seed)")
    }
  }

  @Test("Threads read the same pixels through a cache that is too small", arguments: [2_000, 50_000, 10_000_000])
  func threads(cacheBytesMax: Int) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric, fixture.width, fixture.height) = (3, 2, 400, 300)
    fixture.tile = (64, 32)
    fixture.mask = { x, y in x != y }
    let source = try open(fixture, RasterOpenOptions(cacheBytesMax: cacheBytesMax))
    let whole = try source.words()
    let seed = UInt64.random(in: 0...UInt64.max)
    let failures = FailureCount()
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      var random = SeededGenerator(seed: seed &+ UInt64(thread))
      for _ in 0..<15 {
        let window = PixelRect(
          x: Int.random(in: 0..<300, using: &random), y: Int.random(in: 0..<200, using: &random), width: 100,
          height: 100)
        let part = try? source.words(window).words
        if part != crop(whole, width: 400, window) { failures.add() }
      }
    }
    #expect(failures.count == 0, "seed \(seed)")
  }
}

/// Counts failures of several threads.
final class FailureCount: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0
  func add() { lock.withLock { value += 1 } }
  var count: Int { lock.withLock { value } }
}
