import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Samples of more than 8 bits: refusals, suggestions and the automatic scale.
@Suite("Scales of wide samples", .ownThread)
struct ValueScaleTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A 16-bit grey or RGB PNG without filters, stored without compression.
  private func png(width: Int, height: Int, channels: Int, _ sample: (Int, Int, Int) -> Int) throws -> String {
    func big(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
      let body = Array(name.utf8) + content
      var crc: UInt32 = .max
      for byte in body {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
      }
      return big(content.count) + body + big(Int(~crc))
    }
    var rows: [UInt8] = []
    for y in 0..<height {
      rows.append(0)
      for x in 0..<width {
        for c in 0..<channels {
          let value = sample(x, y, c)
          rows += [UInt8(value >> 8), UInt8(value & 255)]
        }
      }
    }
    var (a, b) = (UInt32(1), UInt32(0))
    for byte in rows { (a, b) = ((a + UInt32(byte)) % 65521, (b + (a + UInt32(byte)) % 65521) % 65521) }
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: rows.count, by: 65535) {
      let part = rows[start..<min(start + 65535, rows.count)]
      let n = UInt16(part.count)
      stream += [start + 65535 >= rows.count ? 1 : 0, UInt8(n & 255), UInt8(n >> 8), UInt8(~n & 255), UInt8(~n >> 8)]
      stream += part
    }
    stream += big(Int(b << 16 | a))
    let bytes =
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + chunk("IHDR", big(width) + big(height) + [16, channels == 1 ? 0 : 2, 0, 0, 0]) + chunk("IDAT", stream)
      + chunk("IEND", [])
    let url = folder.url.appendingPathComponent("\(UUID().uuidString).png")
    try Data(bytes).write(to: url)
    return url.path
  }

  private func options(_ scale: SampleRange? = nil) -> CutOptions {
    var options = CutOptions(sources: [])
    options.isFlat = true
    options.scale = scale
    return options
  }

  @Test("A 16-bit PNG without a scale is refused with a suggestion", arguments: [1, 3])
  func widePNG(channels: Int) throws {
    let path = try png(width: 90, height: 40, channels: channels) { x, _, _ in 1000 + x * 10 }
    var flat = RasterOpenOptions()
    flat.isFlat = true
    let error = #expect(throws: CutError.self) { try RasterFile.open(path: path, options: flat) }
    #expect(error?.code == .badSource)
    #expect(error?.description.contains("--scale 1000,1890") == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("--scale auto") == true)
    flat.scale = try SampleScale(low: 1000, high: 1890)
    let words = try RasterFile.open(path: path, options: flat).words()
    #expect(words[0] == grey(0) && words[89] == grey(255))
  }

  @Test("The automatic scale runs from the 2nd to the 98th percentile, in PNG and TIFF")
  func automatic() throws {
    // A few outliers, which a scale from the smallest to the largest value would follow.
    @Sendable func value(_ x: Int, _ y: Int) -> Int { x == 5 && y < 3 ? 65000 : 1000 + (x * 7 + y * 13) % 1000 }
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits) = (200, 100, 16)
    fixture.sample = { x, y, _ in Double(value(x, y)) }
    let paths = [
      try fixture.write(folder), try png(width: 200, height: 100, channels: 1) { x, y, _ in value(x, y) },
    ]
    for path in paths {
      var options = options(.auto)
      options.sources = [path]
      let scale = try #require(Cutter(options).automaticScale)
      #expect(abs(scale.low - 1020) < 10 && abs(scale.high - 1980) < 10, "\(path): \(scale)")
    }
    var eight = options(.auto)
    fixture.bits = 8
    fixture.sample = { x, y, _ in Double((x + y) % 200) }
    eight.sources = [try fixture.write(folder, "eight.tif")]
    #expect(try Cutter(eight).automaticScale == nil)
  }

  @Test(
    "A range is for sources of more than 8 bits where others have 8, and for those of 8 among themselves",
    arguments: ["tif", "png", "jp2"])
  func mixedDepths(format: String) throws {
    guard format != "jp2" || GDALPrograms.arePresent else { try Test.cancel("\(GDALPrograms.skipMessage)") }
    var fixture = TIFFFixture()
    fixture.sample = { x, _, _ in Double(x + 100) }
    let eight = try fixture.write(folder, "eight.tif")
    (fixture.bits, fixture.sample) = (16, { x, _, _ in Double(x * 600) })
    var wide = try fixture.write(folder, "wide.tif")
    if format == "png" { wide = try png(width: 70, height: 50, channels: 1) { x, _, _ in x * 600 } }
    if format == "jp2" {
      try GDALPrograms.make(
        "gdal_translate", wide, folder.file("wide.jp2"), "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co",
        "QUALITY=100")
      wide = folder.file("wide.jp2")
    }
    var options = options(.values(low: 0, high: 60_000))
    options.isFlat = false
    options.crs = "EPSG:3857"
    options.bounds = BoundingBox(west: 10, south: 10, east: 11, north: 11)
    func brightest(_ sources: [String]) throws -> UInt8 {
      options.sources = sources
      let opened = try Cutter.open(options, CutResources(), folder.path, nil).sources
      return try opened[0].words().map { UInt8(truncatingIfNeeded: $0) }.max() ?? 0
    }
    #expect(try brightest([eight, wide]) == 169)
    #expect(try brightest([eight]) <= 1)
    #expect(try brightest([wide, eight]) > 170)
  }

  @Test("The automatic scale leaves out nodata values, transparent pixels and NaN", arguments: [1, 3])
  func automaticLeavesOut(format: Int) throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.bits, fixture.format) = (100, 100, 2, 32, format)
    fixture.tags[338] = .short([2])
    fixture.tags[42113] = .text("7")
    fixture.sample = { x, y, band in
      if band == 1 { return y < 50 ? 0 : format == 3 ? 1 : 4_294_967_295 }
      return y < 50 ? 60_000 : x < 20 ? 7 : x == 30 && format == 3 ? .nan : Double(500 + x)
    }
    var options = options(.auto)
    options.sources = [try fixture.write(folder)]
    let scale = try #require(Cutter(options).automaticScale)
    #expect(scale.low >= 520 && scale.low <= 525 && scale.high <= 599 && scale.high >= 594, "\(scale)")
  }

  @Test(
    "The automatic scale leaves out what the mask in the file beside a raster hides", arguments: ["tif", "png", "jp2"])
  func automaticLeavesOutMasked(format: String) throws {
    guard format != "jp2" || GDALPrograms.arePresent else { try Test.cancel("\(GDALPrograms.skipMessage)") }
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits) = (100, 100, 16)
    fixture.sample = { x, y, _ in y < 50 ? 60_000 : Double(500 + x) }
    var path = try fixture.write(folder)
    if format == "png" { path = try png(width: 100, height: 100, channels: 1) { x, y, _ in y < 50 ? 60_000 : 500 + x } }
    if format == "jp2" {
      try GDALPrograms.make(
        "gdal_translate", path, folder.file("map.jp2"), "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co",
        "QUALITY=100")
      path = folder.file("map.jp2")
    }
    var mask = TIFFFixture()
    (mask.width, mask.height) = (100, 100)
    mask.sample = { _, y, _ in y < 50 ? 0 : 255 }
    try FileManager.default.moveItem(atPath: mask.write(folder, "mask.tif"), toPath: "\(path).msk")
    var options = options(.auto)
    options.sources = [path]
    let scale = try #require(Cutter(options).automaticScale)
    #expect(scale.low >= 500 && scale.low <= 505 && scale.high <= 599 && scale.high >= 594, "\(scale)")
  }

  @Test("Sources of one cut share a scale")
  func oneScaleForAll() throws {
    var paths: [String] = []
    for (i, base) in [1000, 5000].enumerated() {
      var fixture = TIFFFixture()
      (fixture.bits, fixture.tags) = (16, TIFFFixture.placed)
      fixture.sample = { x, y, _ in Double(base + x + y) }
      paths.append(try fixture.write(folder, "\(i).tif"))
    }
    var options = CutOptions(sources: paths)
    options.scale = .auto
    let scale = try #require(Cutter(options).automaticScale)
    #expect(scale.low < 1100 && scale.high > 5000, "\(scale)")
  }

  /// A sample of a large raster may miss the extremes, which its statistics have.
  @Test(
    "The suggested scale is the range that statistics state, in the file or beside it",
    arguments: ["tag", "aux", "histogram", "approximate", "other nodata"])
  func statedRange(kind: String) throws {
    var fixture = TIFFFixture()
    (fixture.bits, fixture.samples, fixture.photometric) = (16, 3, 2)
    fixture.sample = { x, y, band in Double(1000 + x + y + band) }
    func items(_ line: (Int, String, Int) -> String) -> String {
      (0..<3).map { line($0, "MINIMUM", 100 * ($0 + 1)) + line($0, "MAXIMUM", 10_000 * ($0 + 1)) }.joined()
    }
    if kind != "aux", kind != "histogram" {
      fixture.tags[42112] = .text(
        "<GDALMetadata>"
          + items { "<Item name=\"STATISTICS_\($1)\" sample=\"\($0)\">\($2)</Item>" }
          + (kind == "approximate" ? "<Item name=\"STATISTICS_APPROXIMATE\" sample=\"1\">YES</Item>" : "")
          + "</GDALMetadata>")
    }
    let path = try fixture.write(folder)
    if kind == "aux" || kind == "histogram" {
      let bands = (1...3).map { band in
        let content =
          kind == "aux"
          ? "<Metadata><MDI key=\"STATISTICS_MINIMUM\">\(band * 100)</MDI>"
            + "<MDI key=\"STATISTICS_MAXIMUM\">\(band * 10_000)</MDI></Metadata>"
          : "<Histograms><HistItem><HistMin>99.5</HistMin><HistMax>30000.5</HistMax><BucketCount>29901</BucketCount>"
            + "<IncludeOutOfRange>0</IncludeOutOfRange><Approximate>0</Approximate>"
            + "<HistCounts>1\(String(repeating: "|0", count: 29_899))|1</HistCounts></HistItem></Histograms>"
        return "<PAMRasterBand band=\"\(band)\">\(content)</PAMRasterBand>"
      }
      try folder.write("fixture.tif.aux.xml", "<PAMDataset>\(bands.joined())</PAMDataset>")
    }
    var flat = RasterOpenOptions()
    flat.isFlat = true
    if kind == "other nodata" { flat.nodata = [100] }
    let error = try #require(throws: CutError.self) { try RasterFile.open(path: path, options: flat) }
    let expected =
      ["approximate", "other nodata"].contains(kind)
      ? "--scale 1000,1120, the range of a sample of its values" : "--scale 100,30000, the range of its values"
    #expect(error.description.contains(expected), "\(error)")
  }

  @Test("The nodata value of the file beside a raster is left out of the percentiles", arguments: [true, false])
  func auxiliaryNodata(isPNG: Bool) throws {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits) = (100, 50, 16)
    fixture.sample = { x, y, _ in x < 40 ? 60_000 : Double(1000 + x) }
    let path =
      isPNG
      ? try png(width: 100, height: 50, channels: 1) { x, y, _ in Int(fixture.sample(x, y, 0)) }
      : try fixture.write(folder)
    let aux = #"<PAMDataset><PAMRasterBand band="1"><NoDataValue>60000</NoDataValue></PAMRasterBand></PAMDataset>"#
    try Data(aux.utf8).write(to: URL(fileURLWithPath: path + ".aux.xml"))
    var options = options(.auto)
    options.sources = [path]
    let scale = try #require(Cutter(options).automaticScale)
    #expect(scale.low >= 1040 && scale.high < 1100, "\(scale)")
  }

  @Test(
    "The suggested scale of a real file clips few of its values",
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: ["cog_dateline.tif", "srtm.tif", "elev.tif", "dem.tif", "rmnp-dem.tif"])
  func suggestion(name: String) throws {
    let path = TestData.url("maps/rasters/\(name)").path
    let error = try #require(throws: CutError.self) { try RasterFile.open(path: path, options: RasterOpenOptions()) }
    let text = error.description
    let words = try #require(text.components(separatedBy: "black and white: --scale ").last?.prefix { $0 != " " })
    let ends = words.split(separator: ",").compactMap { Double($0) }
    try #require(ends.count == 2, "\(text)")
    var options = RasterOpenOptions()
    // Values beyond the ends come out black or white; a little wider, none may.
    let margin = (ends[1] - ends[0]) * 0.01
    options.scale = try SampleScale(low: ends[0] - margin, high: ends[1] + margin)
    let source = try RasterFile.open(path: path, options: options)
    let visible = try source.words().filter { $0 != 0 }
    let clipped = visible.filter { $0 == grey(0) || $0 == grey(255) }
    #expect(clipped.count * 100 <= visible.count, "\(name): \(clipped.count) of \(visible.count) clipped by \(words)")
  }
}
