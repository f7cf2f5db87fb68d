import Foundation
import TestSupport
import Testing

@testable import TileCut

/// Colours of values that are kept beside the pixels: in a VRT, and in `IMAGE.aux.xml`.
@Suite("Colour tables", .ownThread)
struct ColourTableTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Five colours, one of them half transparent. The raster has values up to 6, of which two have no colour.
  private static let table =
    "<ColorInterp>Palette</ColorInterp><ColorTable>"
    + [(255, 0, 0, ""), (0, 200, 0, #" c4="128""#), (0, 0, 255, #" c4="255""#), (9, 8, 7, ""), (250, 240, 30, "")]
    .map { "<Entry c1=\"\($0.0)\" c2=\"\($0.1)\" c3=\"\($0.2)\"\($0.3)/>" }.joined() + "</ColorTable>"

  private static let words = [
    rgba(255, 0, 0), rgba(0, 200, 0, 128), rgba(0, 0, 255), rgba(9, 8, 7), rgba(250, 240, 30),
  ]

  private static func value(_ x: Int, _ y: Int) -> Int { (x / 5 + y / 4) % 7 }

  private var expected: [UInt32] {
    (0..<70 * 50).map { i in
      let value = Self.value(i % 70, i / 70)
      return value < Self.words.count ? Self.words[value] : 0
    }
  }

  @discardableResult
  private func tiff(_ name: String, bits: Int = 8, format: Int = 1, palette: Bool = false) throws -> String {
    var fixture = TIFFFixture()
    (fixture.bits, fixture.format, fixture.tags) = (bits, format, TIFFFixture.placed)
    fixture.sample = { x, y, _ in Double(Self.value(x, y)) }
    if palette {
      fixture.photometric = 3
      fixture.tags[320] = .short((0..<3 * 1 << bits).map { $0 * 13 % 65536 })
    }
    return try fixture.write(folder, name)
  }

  private func vrt(_ file: String, bands: [String], place: Bool = true) throws -> String {
    let all = bands.enumerated().map { index, content in
      """
      <VRTRasterBand dataType="Byte" band="\(index + 1)">\(content)<SimpleSource>
        <SourceFilename relativeToVRT="1">\(file)</SourceFilename><SourceBand>1</SourceBand></SimpleSource>
      </VRTRasterBand>
      """
    }
    return try folder.write(
      "\(file).vrt",
      """
      <VRTDataset rasterXSize="70" rasterYSize="50"><SRS>EPSG:4326</SRS>
        <GeoTransform>10, 0.1, 0, 50, 0, -0.1</GeoTransform>\(all.joined())</VRTDataset>
      """)
  }

  private func open(_ path: String) throws -> any RasterSource {
    try RasterFile.open(path: path, options: RasterOpenOptions())
  }

  static let samples = [(8, 1, false), (8, 1, true), (4, 1, false), (16, 1, false), (16, 2, false), (32, 3, false)]

  @Test("A VRT's table goes over the colours of its source", arguments: samples)
  func tableOfVRT(bits: Int, format: Int, palette: Bool) throws {
    try tiff("a.tif", bits: bits, format: format, palette: palette)
    let source = try open(vrt("a.tif", bands: [Self.table]))
    #expect(try source.words() == expected)
    #expect(source.alphaKind == .soft)
    // In a VRT over the VRT, which says nothing.
    #expect(try open(vrt("a.tif.vrt", bands: [""])).words() == expected)
  }

  @Test("A table in the file beside a TIFF goes over the TIFF's own", arguments: samples)
  func tableBeside(bits: Int, format: Int, palette: Bool) throws {
    let path = try tiff("a.tif", bits: bits, format: format, palette: palette)
    try folder.write(
      "a.tif.aux.xml", "<PAMDataset><PAMRasterBand band=\"1\">\(Self.table)</PAMRasterBand></PAMDataset>")
    #expect(try open(path).words() == expected)
    #expect(try RasterFile.needsScale(SourceFile(path: path), options: RasterOpenOptions()) == false)
  }

  /// Each band of three is a level, also where its file has colours for the values.
  @Test func bandsOfAPictureAreLevels() throws {
    try tiff("a.tif", palette: true)
    let names = ["Red", "Green", "Blue"].map { "<ColorInterp>\($0)</ColorInterp>" }
    let words = try open(vrt("a.tif", bands: names)).words()
    #expect(words == (0..<70 * 50).map { grey(Self.value($0 % 70, $0 / 70)) })
  }

  @Test(
    "The colours are those of gdal_translate -expand rgba",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: ["tif", "palette.tif", "png", "palette.png", "jp2"], [false, true])
  func expanded(name: String, isBeside: Bool) throws {
    let plain = try tiff("plain.tif", palette: name.hasPrefix("palette"))
    let file = "map.\(name)"
    let driver = name.hasSuffix("png") ? "PNG" : name == "jp2" ? "JP2OpenJPEG" : "GTiff"
    let quality = driver == "JP2OpenJPEG" ? ["-co", "QUALITY=100", "-co", "REVERSIBLE=YES"] : []
    _ = try run("gdal_translate", ["-q", "-of", driver] + quality + [plain, folder.file(file)])
    try? FileManager.default.removeItem(atPath: folder.file("\(file).aux.xml"))
    var path = folder.file(file)
    if isBeside {
      // GDAL reads tables beside TIFFs, and neither do we beside others.
      guard driver == "GTiff" else { return }
      try folder.write(
        "\(file).aux.xml", "<PAMDataset><PAMRasterBand band=\"1\">\(Self.table)</PAMRasterBand></PAMDataset>")
    } else {
      path = try vrt(file, bands: [Self.table])
    }
    // Values without a colour are errors to GDAL, which writes zeros for them.
    _ = try run("gdal_translate", ["-q", "-expand", "rgba", path, folder.file("theirs.tif")])
    let theirs = try open(folder.file("theirs.tif")).words()
    #expect(try open(path).words() == theirs)
    #expect(theirs == expected)
  }

  @Test("Names of bands in the file beside a TIFF say which is which")
  func interpretationsBeside() throws {
    var fixture = TIFFFixture()
    (fixture.samples, fixture.tags) = (4, TIFFFixture.placed)
    fixture.sample = { x, _, band in band == 3 ? (x < 35 ? 0 : 255) : Double(40 * band + x) }
    let path = try fixture.write(folder, "a.tif")
    let names = ["Blue", "Green", "Red", "Alpha"].enumerated().map {
      "<PAMRasterBand band=\"\($0 + 1)\"><ColorInterp>\($1)</ColorInterp></PAMRasterBand>"
    }
    try folder.write("a.tif.aux.xml", "<PAMDataset>\(names.joined())</PAMDataset>")
    let source = try open(path)
    #expect(source.alphaKind == .soft)
    #expect(
      try source.words()
        == (0..<70 * 50).map { $0 % 70 < 35 ? 0 : rgba(80 + $0 % 70, 40 + $0 % 70, $0 % 70) })
  }
}
