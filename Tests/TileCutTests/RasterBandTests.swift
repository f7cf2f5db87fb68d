import Foundation
import RegionCatalog
import TestSupport
import Testing

@testable import TileCut

/// Which bands are colours and which is alpha.
@Suite("Bands and alpha", .ownThread)
struct RasterBandTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func open(_ fixture: TIFFFixture, bands: [Int]? = nil, alpha: AlphaBand? = nil, scale: SampleScale? = nil)
    throws -> any RasterSource
  {
    var fixture = fixture
    fixture.tags.merge(TIFFFixture.placed) { own, _ in own }
    var options = RasterOpenOptions(scale: scale)
    (options.bands, options.alpha) = (bands, alpha)
    return try RasterFile.open(path: fixture.write(folder, "\(UUID().uuidString).tif"), options: options)
  }

  /// Four bands, of which the last is said to be alpha, though it is a picture like the others.
  private static func naip(metadata: [String] = []) -> TIFFFixture {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (4, 2)
    fixture.tags[338] = .short([2])
    if !metadata.isEmpty { fixture.tags[42112] = .text(interpretations(metadata)) }
    return fixture
  }

  /// GDAL's metadata tag; an empty name is left out.
  static func interpretations(_ names: [String]) -> String {
    let items = names.enumerated().filter { !$1.isEmpty }.map {
      "<Item name=\"COLORINTERP\" sample=\"\($0)\" role=\"colorinterp\">\($1)</Item>"
    }
    return "<GDALMetadata>\n  <Item name=\"X\">a</Item>\n  \(items.joined(separator: "\n  "))\n</GDALMetadata>\n"
  }

  private func value(_ fixture: TIFFFixture, _ i: Int, _ band: Int) -> Int {
    Int(fixture.sample(i % fixture.width, i / fixture.width, band - 1))
  }

  private func rgb(_ fixture: TIFFFixture, _ bands: [Int], alpha: Int? = nil) -> [UInt32] {
    (0..<fixture.width * fixture.height).map { i in
      let c = bands.map { value(fixture, i, $0) }
      return rgba(
        c[0], c.count == 1 ? c[0] : c[1], c.count == 1 ? c[0] : c[2], alpha.map { value(fixture, i, $0) } ?? 255)
    }
  }

  @Test("GDAL's colour interpretation goes over ExtraSamples")
  func colourInterpretationWins() throws {
    let near = Self.naip(metadata: ["", "", "", "Undefined"])
    let source = try open(near)
    #expect(source.alphaKind == .opaque)
    #expect(try source.words() == rgb(near, [1, 2, 3]))
    #expect(source.warnings.contains { $0.contains("the first three of 4 bands") && $0.contains("--bands") })

    var unsaid = Self.naip(metadata: ["", "", "", "Alpha"])
    unsaid.tags[338] = .short([0])
    #expect(try open(unsaid).words() == rgb(unsaid, [1, 2, 3], alpha: 4))
    #expect(try open(unsaid).warnings.isEmpty)

    let reversed = Self.naip(metadata: ["Blue", "Green", "Red", "NIR"])
    #expect(try open(reversed).words() == rgb(reversed, [3, 2, 1]))
  }

  @Test("Sixteen-bit RGBA whose bands only the metadata names is read as such")
  func wideRGBA() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.bits, fixture.photometric) = (4, 16, 1)
    fixture.tags[42112] = .text(Self.interpretations(["Red", "Green", "Blue", "Alpha"]))
    fixture.sample = { x, _, band in band == 3 ? Double(x * 257) : Double(1000 * band + 500) }
    let source = try open(fixture, scale: SampleScale(low: 0, high: 2550))
    #expect(source.alphaKind == .soft)
    #expect(try source.words() == (0..<70 * 50).map { rgba(50, 150, 250, $0 % 70) })
  }

  @Test("A fourth band that looks like no mask is named in a warning; options settle it")
  func unlikelyAlpha() throws {
    let fixture = Self.naip()
    var source = try open(fixture)
    #expect(source.alphaKind == .soft)
    #expect(source.warnings.count == 1 && source.warnings[0].contains("band 4"), "\(source.warnings)")
    #expect(source.warnings[0].contains("--alpha none"))
    #expect(try source.words() == rgb(fixture, [1, 2, 3], alpha: 4))

    source = try open(fixture, alpha: .absent)
    #expect(try source.words() == rgb(fixture, [1, 2, 3]))
    #expect(source.alphaKind == .opaque)
    source = try open(fixture, bands: [1, 2, 3])
    #expect(try source.words() == rgb(fixture, [1, 2, 3]))
    #expect(source.warnings.isEmpty)
    source = try open(fixture, alpha: .number(4))
    #expect(try source.words() == rgb(fixture, [1, 2, 3], alpha: 4))
    #expect(source.warnings.isEmpty)

    var mask = fixture
    mask.sample = { x, y, band in band == 3 ? (x < 60 ? 255 : 0) : Double((x + y) % 251) }
    #expect(try open(mask).warnings.isEmpty)
  }

  @Test(
    "Any bands can be shown, in every layout", arguments: RasterTIFFTests.layouts.map(\.0),
    [[4, 3, 2], [6], [1, 1, 5], [2, 3, 4]])
  func chosenBands(layout: String, bands: [Int]) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (6, 1)
    RasterTIFFTests.layouts.first { $0.0 == layout }!.1(&fixture)
    #expect(try open(fixture, bands: bands).words() == rgb(fixture, bands))
    #expect(try open(fixture, bands: bands, alpha: .number(5)).words() == rgb(fixture, bands, alpha: 5))
  }

  @Test("Bands of more and of fewer than eight bits can be shown", arguments: [4, 12, 16])
  func chosenBandsOfAnyDepth(bits: Int) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric, fixture.bits) = (5, 1, bits)
    let levels = bits == 4 ? 16 : 1000
    fixture.sample = { x, y, band in Double((x * 3 + y * 5 + band * 7) % levels) }
    let scale = bits == 4 ? nil : try SampleScale(low: 0, high: 2550)
    let expected = rgb(fixture, [4, 3, 2]).indices.map { i in
      let c = [4, 3, 2].map { band in
        bits == 4 ? value(fixture, i, band) * 17 : Int(Double(value(fixture, i, band)) / 10 + 0.5)
      }
      return rgba(c[0], c[1], c[2])
    }
    #expect(try open(fixture, bands: [4, 3, 2], scale: scale).words() == expected)
    fixture.isSeparate = true
    #expect(try open(fixture, bands: [4, 3, 2], scale: scale).words() == expected)
  }

  @Test("A band that does not exist is refused", arguments: [[7], [1, 2, 7]])
  func missingBand(bands: [Int]) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (6, 1)
    var error = #expect(throws: CutError.self) { try open(fixture, bands: bands) }
    #expect(error?.code == .invalidOption && error?.description.contains("band 7") == true)
    error = #expect(throws: CutError.self) { try open(fixture, alpha: .number(9)) }
    #expect(error?.code == .invalidOption)
    var options = CutOptions(sources: ["x.tif"])
    options.bands = [1, 2]
    #expect(throws: CutError.self) { try options.check() }
  }

  @Test("Twelve-bit samples are scaled", arguments: [false, true])
  func twelveBits(isSeparate: Bool) throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric, fixture.bits, fixture.isSeparate) = (3, 2, 12, isSeparate)
    fixture.sample = { x, y, band in Double((x * 31 + y * 17 + band * 500) % 4096) }
    let error = #expect(throws: CutError.self) { try open(fixture) }
    #expect(error?.description.contains("12-bit") == true)
    let words = try open(fixture, scale: SampleScale(low: 0, high: 4095)).words()
    let expected = words.indices.map { i in
      let c = (1...3).map { Int(Double(value(fixture, i, $0)) * 255 / 4095 + 0.5) }
      return rgba(c[0], c[1], c[2])
    }
    #expect(words == expected)
  }

  @Test("CMYK is shown as RGB")
  func cmyk() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (4, 5)
    fixture.tags[332] = .short([1])
    let words = try open(fixture).words()
    for i in stride(from: 0, to: words.count, by: 7) {
      let (c, m, y, k) = (value(fixture, i, 1), value(fixture, i, 2), value(fixture, i, 3), value(fixture, i, 4))
      let expected = [c, m, y].map { (255 - $0) * (255 - k) / 255 }
      let found = (0..<3).map { Int(words[i] >> UInt32(8 * $0) & 255) }
      #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(found) \(expected)")
    }
    let error = #expect(throws: CutError.self) { try open(fixture, bands: [4, 3, 2]) }
    #expect(error?.code == .invalidOption)
  }

  @Test("YCbCr without JPEG is shown as RGB")
  func ycbcr() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (3, 6)
    fixture.tags[530] = .short([1, 1])
    fixture.sample = { x, y, band in band == 0 ? Double(50 + x) : band == 1 ? Double(100 + y) : Double(150 - y) }
    let words = try open(fixture).words()
    for i in stride(from: 0, to: words.count, by: 7) {
      let (luma, blue, red) = (
        Double(value(fixture, i, 1)), Double(value(fixture, i, 2) - 128), Double(value(fixture, i, 3) - 128)
      )
      let expected = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
      let found = (0..<3).map { Double(words[i] >> UInt32(8 * $0) & 255) }
      #expect(zip(found, expected).allSatisfy { abs($0 - max(0, min(255, $1))) <= 2 }, "\(found) \(expected)")
    }
  }

  @Test("CIELab is shown as RGB: grey stays grey, reds are red")
  func cielab() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.photometric) = (3, 8)
    // a and b are signed bytes.
    fixture.sample = { x, _, band in band == 0 ? Double(x * 3) : band == 1 ? (x < 35 ? 0 : 60) : 0 }
    let words = try open(fixture).words()
    func channels(_ i: Int) -> [Int] { (0..<3).map { Int(words[i] >> UInt32(8 * $0) & 255) } }
    let grey = channels(30)
    #expect(grey.max()! - grey.min()! <= 24, "\(grey)")
    // libtiff does not adapt the reference white, so grey has a tint.
    let red = channels(60)
    #expect(red[0] > red[1] + 60 && red[0] > red[2] + 20, "\(red)")
    // libtiff cannot show it in separate planes.
    (fixture.isSeparate, fixture.tile) = (true, (32, 32))
    let error = #expect(throws: CutError.self) { try open(fixture) }
    #expect(error?.description.contains("damaged") == false && error?.remedy?.contains("convert") == true)
  }
}

@Suite("Samples in a manifest", .ownThread)
struct ManifestSampleTests {
  @Test("A region's scale, bands and alpha reach the cut, and change its fingerprint")
  func settings() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.tif", "any")
    func region(_ settings: String) throws -> (CutOptions, String) {
      try folder.write(
        "regions.json",
        #"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": ["a.tif"]\#(settings)}]}"#)
      let manifest = try RegionManifest(path: folder.file("regions.json"))
      let options = CutOptions(of: manifest.regions[0], in: manifest)
      let build = CatalogBuildOptions(manifest: manifest, output: folder.file("out"), toolVersion: "1")
      let hashes = InputHashes(file: folder.file("hashes"))
      return (options, try RegionFingerprints(manifest.regions[0], build, hashes, libraries: []).bundle)
    }
    let (plain, first) = try region("")
    #expect(plain.scale == nil && plain.bands == nil && plain.alpha == nil)
    let (chosen, second) = try region(#", "scale": [10, 500], "bands": [4, 3, 2], "alpha": 4"#)
    #expect(chosen.scale == .values(low: 10, high: 500) && chosen.bands == [4, 3, 2] && chosen.alpha == .number(4))
    let (automatic, third) = try region(#", "scale": "auto", "alpha": "none", "resampling": "mode""#)
    #expect(automatic.scale == .auto && automatic.alpha == .absent && automatic.resampling == .mode)
    #expect(Set([first, second, third]).count == 3)
  }
}
