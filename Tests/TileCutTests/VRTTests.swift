import Foundation
import TestSupport
import Testing

@testable import TileCut

/// What lies beside and in a VRT: overviews, ground control points and masks.
@Suite("VRT mosaics", .ownThread)
struct VRTTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let (width, height) = (120, 80)

  @discardableResult
  private func tiff(_ name: String, _ change: (inout TIFFFixture) -> Void = { _ in }) throws -> TIFFFixture {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.photometric) = (Self.width, Self.height, 3, 2)
    fixture.sample = { x, y, band in Double(1 + (x * 3 + y * 5 + band * 70) % 250) }
    change(&fixture)
    _ = try fixture.write(folder, name)
    return fixture
  }

  private static let place = """
    <SRS>EPSG:4326</SRS><GeoTransform>1.0e+01, 1.0e-01, 0, 5.0e+01, 0, -1.0e-01</GeoTransform>
    """

  private func source(_ file: String, _ band: String, kind: String = "SimpleSource", more: String = "") -> String {
    """
    <\(kind)><SourceFilename relativeToVRT="1">\(file)</SourceFilename><SourceBand>\(band)</SourceBand>\(more)
      <SrcRect xOff="0" yOff="0" xSize="120" ySize="80"/><DstRect xOff="0" yOff="0" xSize="120" ySize="80"/></\(kind)>
    """
  }

  private func colours(_ file: String, nodata: Int? = nil, inBand: String = "") -> String {
    ["Red", "Green", "Blue"].enumerated().map { index, name in
      let stated = nodata.map { "<NoDataValue>\($0)</NoDataValue>" } ?? ""
      return """
        <VRTRasterBand dataType="Byte" band="\(index + 1)"><ColorInterp>\(name)</ColorInterp>\(stated)
          \(source(file, "\(index + 1)"))\(inBand)</VRTRasterBand>
        """
    }.joined()
  }

  private func mask(_ sources: String) -> String {
    "<MaskBand><VRTRasterBand dataType=\"Byte\">\(sources)</VRTRasterBand></MaskBand>"
  }

  private func vrt(_ content: String, place: String = place, width: Int = width) throws -> String {
    try folder.write(
      "mosaic.vrt",
      "<VRTDataset rasterXSize=\"\(width)\" rasterYSize=\"\(Self.height)\">\(place)\(content)</VRTDataset>")
  }

  private func open(_ path: String) throws -> any RasterSource {
    try RasterFile.open(path: path, options: RasterOpenOptions())
  }

  private func words(_ fixture: TIFFFixture, isVisible: (_ x: Int, _ y: Int) -> Bool) -> [UInt32] {
    (0..<fixture.width * fixture.height).map { i in
      let (x, y) = (i % fixture.width, i / fixture.width)
      func value(_ band: Int) -> Int { Int(fixture.sample(x, y, band)) }
      return isVisible(x, y) ? rgba(value(0), value(1), value(2)) : 0
    }
  }

  @Test("Sources lie beside the VRT itself, also where a symbolic link names it", arguments: [false, true])
  func link(isRelative: Bool) throws {
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder.file("data"), withIntermediateDirectories: false)
    let fixture = try tiff("data/a.tif")
    try manager.moveItem(atPath: try vrt(colours("a.tif")), toPath: folder.file("data/mosaic.vrt"))
    let link = folder.file("link.vrt")
    try manager.createSymbolicLink(
      atPath: link, withDestinationPath: isRelative ? "data/mosaic.vrt" : folder.file("data/mosaic.vrt"))
    #expect(try open(link).words() == words(fixture) { _, _ in true })
    #expect(try open(link).path == link)
  }

  // MARK: - Overviews

  @Test(
    "The overviews beside a VRT are used where they tell which pixels are transparent",
    arguments: ["opaque", "nodata", "gap", "other"])
  func overviews(kind: String) throws {
    try tiff("a.tif")
    let isWide = kind == "nodata" || kind == "gap"
    let path = try vrt(colours("a.tif", nodata: kind == "nodata" ? 7 : nil), width: isWide ? 160 : 120)
    let width = isWide ? 80 : 60
    let coarse = try tiff("mosaic.vrt.ovr") {
      ($0.width, $0.height) = (width, 40)
      if kind == "other" { $0.samples = 4 }
      $0.tags[254] = .long([1])
      $0.sample = { x, y, band in x >= 60 ? 7 : Double(60 + (x * 3 + y + band * 31) % 100) }
    }
    let overview = try open(path).overview(factorMax: 2)
    guard kind == "opaque" || kind == "nodata" else {
      #expect(overview == nil)
      return
    }
    #expect(try overview?.words() == words(coarse) { x, _ in x < 60 })
    #expect(try open(path).overview(factorMax: 1.5) == nil)
  }

  /// Beside a VRT with a mask gdaladdo writes overviews without masks, which do not tell what is transparent.
  @Test(
    "Overviews that gdaladdo writes beside a VRT are read",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: ["opaque", "alpha", "mask"])
  func gdaladdo(kind: String) throws {
    // With a gap between two files: 40 columns.
    let names = kind == "alpha" ? ["a.tif", "b.tif"] : ["a.tif"]
    for name in names {
      try tiff(name) {
        $0.tags = TIFFFixture.placed
        if name == "b.tif" { $0.tags[33922] = .double([0, 0, 0, 26, 50, 0]) }
        if kind == "mask" { $0.mask = { x, _ in x >= 40 } }
        $0.sample = { _, _, band in Double(90 + band * 20) }
      }
    }
    let path = folder.file("mosaic.vrt")
    let options = kind == "alpha" ? ["-addalpha"] : []
    let made = try #require(try run("gdalbuildvrt", ["-q"] + options + [path] + names.map(folder.file)))
    try #require(made.status == 0, "\(made.output)")
    let added = try #require(try run("gdaladdo", ["-q", "-ro", "-r", "average", path, "4"]))
    try #require(added.status == 0, "\(added.output)")
    let found = try open(path).overview(factorMax: 4)
    guard kind != "mask" else {
      #expect(found == nil)
      return
    }
    let overview = try #require(found)
    #expect(overview.width == (kind == "alpha" ? 70 : 30) && overview.height == 20)
    let row = (0..<overview.width).map { 30..<40 ~= $0 ? 0 : rgba(90, 110, 130) }
    #expect(try overview.words() == [[UInt32]](repeating: row, count: 20).flatMap { $0 })
  }

  // MARK: - Ground control points

  @Test("Ground control points in a VRT place it, in the system that they name", arguments: [true, false])
  func controlPoints(isAttribute: Bool) throws {
    try tiff("a.tif")
    let points = [(0, 0), (120, 0), (0, 80), (120, 80)].map { x, y in
      let place = (500_000 + Double(x) * 30 + Double(y) * 2, 4_400_000 - Double(y) * 30)
      return "<GCP Id=\"\" Pixel=\"\(x)\" Line=\"\(y)\" X=\"\(place.0)\" Y=\"\(place.1)\"/>"
    }.joined()
    let list =
      isAttribute
      ? "<GCPList Projection=\"EPSG:32613\">\(points)</GCPList>"
      : "<GCPList><SRS>EPSG:32613</SRS>\(points)</GCPList>"
    let georeference = try open(vrt(colours("a.tif"), place: list)).georeference
    #expect(georeference.controlPoints != nil && georeference.crs.title.contains("32613"))
    let place = georeference.place(ofPixel: SIMD2(60, 40))
    #expect(abs(place.x - 501_880) < 1e-3 && abs(place.y - 4_398_800) < 1e-3, "\(place)")
    let error = #expect(throws: CutError.self) {
      try open(vrt(colours("a.tif"), place: "<GCPList><GCP Pixel=\"1\"/></GCPList>"))
    }
    #expect(error?.description.contains("control point") == true)
  }

  // MARK: - Masks

  @Test(
    "A mask hides pixels, wherever it is taken from",
    arguments: ["file", "band", "alpha band", "mask as alpha", "mask of each band", "mask of the file"])
  func masks(kind: String) throws {
    @Sendable func isVisible(_ x: Int, _ y: Int) -> Bool { x >= 20 && (x + y) % 7 != 0 }
    let hasBand = kind == "band" || kind == "alpha band"
    let fixture = try tiff("a.tif") {
      if hasBand {
        $0.samples = 4
        $0.tags[338] = .short([kind == "band" ? 0 : 2])
        let colour = $0.sample
        $0.sample = { x, y, band in band < 3 ? colour(x, y, band) : isVisible(x, y) ? 255 : 0 }
      }
      if kind.hasPrefix("mask") { $0.mask = isVisible }
    }
    try tiff("mask.tif") {
      ($0.samples, $0.photometric) = (1, 1)
      // Any value but zero, also one that is said to be no data.
      $0.sample = { x, y, _ in isVisible(x, y) ? Double(1 + x % 3) : 0 }
      $0.tags[42113] = .text("2")
    }
    let alpha = """
      <VRTRasterBand dataType="Byte" band="4"><ColorInterp>Alpha</ColorInterp>\(source("a.tif", "mask,1"))
      </VRTRasterBand>
      """
    let content =
      switch kind {
      case "file": colours("a.tif") + mask(source("mask.tif", "1"))
      case "band": colours("a.tif") + mask(source("a.tif", "4"))
      case "mask as alpha": colours("a.tif") + alpha
      case "mask of each band": colours("a.tif", inBand: mask(source("a.tif", "mask,1")))
      default: colours("a.tif") + mask(source("a.tif", "mask,1"))
      }
    let path = try vrt(content)
    let found = try open(path)
    #expect(try found.words() == words(fixture, isVisible: isVisible))
    #expect(found.alphaKind == .mask)
    #expect(Set(VRTDocument.files(of: path)).count == (kind == "file" ? 2 : 1))
    let window = PixelRect(x: 15, y: 20, width: 30, height: 9)
    #expect(try found.words(window).words == crop(words(fixture, isVisible: isVisible), width: 120, window))
  }

  @Test("Masks that cannot be read are refused with what to do", arguments: ["constant", "colour", "different"])
  func refusedMasks(kind: String) throws {
    try tiff("a.tif")
    let constant = "<ScaleOffset>255</ScaleOffset><ScaleRatio>0</ScaleRatio>"
    let content =
      switch kind {
      case "constant":
        colours("a.tif")
          + mask(source("a.tif", "mask,1") + source("b.tif", "1", kind: "ComplexSource", more: constant))
      case "colour": "<VRTRasterBand band=\"1\">\(source("a.tif", "mask,1"))</VRTRasterBand>"
      default:
        (1...2).map {
          "<VRTRasterBand band=\"\($0)\">\(source("a.tif", "1"))\(mask(source("a.tif", "\($0)")))</VRTRasterBand>"
        }.joined()
      }
    let error = #expect(throws: CutError.self) { try open(vrt(content)) }
    #expect(error?.code == .badSource && error?.description.contains("mask") == true, "\(String(describing: error))")
    #expect(error?.remedy?.contains("gdal_translate") == true)
  }
}
