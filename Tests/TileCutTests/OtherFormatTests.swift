import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage

@testable import TileCut

/// JPEG 2000, WebP and VRT.
@Suite("Other formats", .ownThread)
struct OtherFormatTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func open(_ path: String, _ change: (inout RasterOpenOptions) throws -> Void = { _ in }) throws
    -> any RasterSource
  {
    var options = RasterOpenOptions()
    try change(&options)
    return try RasterFile.open(path: path, options: options)
  }

  private func tiff(_ name: String, _ change: (inout TIFFFixture) -> Void = { _ in }) throws -> String {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.photometric) = (300, 200, 3, 2)
    fixture.tags = TIFFFixture.placed
    change(&fixture)
    return try fixture.write(folder, name)
  }

  // MARK: - JPEG 2000

  @Test(
    "JPEG 2000 gives the pixels that were compressed, in tiles and without, and the georeference of its GeoJP2 box",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: [1, 3, 4], [64, 1024])
  func jpeg2000(samples: Int, block: Int) throws {
    let original = try tiff("map.tif") {
      ($0.samples, $0.photometric) = (samples, samples == 1 ? 1 : 2)
      if samples == 4 { $0.tags[338] = .short([2]) }
    }
    let path = folder.file("map.jp2")
    try GDALPrograms.make(
      "gdal_translate", original, path, "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co", "QUALITY=100", "-co",
      "BLOCKXSIZE=\(block)", "-co", "BLOCKYSIZE=\(block)", "-co", "YCBCR420=NO")
    let (wanted, found) = (try open(original), try open(path))
    #expect(found.width == 300 && found.height == 200)
    #expect(try found.words() == wanted.words())
    #expect(found.alphaKind == wanted.alphaKind)
    let window = PixelRect(x: 50, y: 60, width: 100, height: 70)
    #expect(try found.words(window).words == wanted.words(window).words)
    #expect(found.georeference.crs.isWGS84LongLat)
    let (a, b) = (found.georeference.affine, wanted.georeference.affine)
    #expect(abs(a.a - b.a) < 1e-12 && abs(a.c - b.c) < 1e-9 && abs(a.e - b.e) < 1e-12 && abs(a.f - b.f) < 1e-9)
    if samples == 3 {
      #expect(try open(path) { $0.bands = [3, 2, 1] }.words() == open(original) { $0.bands = [3, 2, 1] }.words())
    }
    // Too small a cache for the image: bands and a scratch file, or blocks again and again.
    #expect(try open(path) { $0.cacheBytesMax = 200_000 }.words() == wanted.words())
  }

  /// As Sentinel-2's files have it, in systems whose axes begin with east or with north, and in version 2.
  @Test(
    "A JPEG 2000 with a GML box alone lies where GDAL places it",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: ["EPSG:32633", "EPSG:4326", "EPSG:3035"], [false, true])
  func gmlBox(crs: String, isVersion2: Bool) throws {
    let corners: [String: [String]] = [
      "EPSG:32633": ["300000", "5000040", "306000", "4997040"], "EPSG:4326": ["15", "41", "15.3", "40.9"],
      "EPSG:3035": ["4300000", "2700000", "4306000", "2697000"],
    ]
    let plain = try tiff("plain.tif")
    _ = try run(
      "gdal_translate",
      ["-q", "-a_srs", crs, "-a_ullr"] + (try #require(corners[crs])) + [plain, folder.file("placed.tif")])
    let path = folder.file("map.jp2")
    try GDALPrograms.make(
      "gdal_translate", folder.file("placed.tif"), path, "-of", "JP2OpenJPEG", "-co", "GeoJP2=NO", "-co",
      isVersion2 ? "GMLJP2V2_DEF=YES" : "GMLJP2=YES")
    try? FileManager.default.removeItem(atPath: "\(path).aux.xml")
    let (found, wanted) = (try open(path).georeference, try open(folder.file("placed.tif")).georeference)
    #expect(found.crs == wanted.crs)
    let (a, b) = (found.affine, wanted.affine)
    #expect(a.b == 0 && a.d == 0)
    for (own, other) in [(a.a, b.a), (a.e, b.e), (a.c, b.c), (a.f, b.f)] {
      #expect(abs(own - other) < 1e-6 * abs(b.a), "\(a) \(b)")
    }
  }

  /// Some files name easting first whatever EPSG says, some have the vectors in the other order, some are damaged.
  @Test func axesOfAGMLBox() throws {
    func place(_ point: String, _ vectors: [String], axes: [String] = ["x", "y"], more: String = "") -> GMLCoverage {
      let text = """
        <gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml">\(more)<gml:RectifiedGrid dimension="2">
        \(axes.map { "<gml:axisName>\($0)</gml:axisName>" }.joined())<gml:origin>\(point)</gml:origin>
        \(vectors.map { "<gml:offsetVector>\($0)</gml:offsetVector>" }.joined())</gml:RectifiedGrid>
        <gml:RectifiedGrid><gml:origin><gml:Point><gml:pos>9 9</gml:pos></gml:Point></gml:origin></gml:RectifiedGrid>
        </gml:FeatureCollection>
        """
      return GMLCoverage(Array(text.utf8)) { $0 == "EPSG:4326" }
    }
    func point(_ name: String, _ pos: String) -> String {
      "<gml:Point srsName=\"\(name)\"><gml:pos>\(pos)</gml:pos></gml:Point>"
    }
    let expected = Affine(a: 0.5, b: 0, c: 10, d: 0, e: -0.25, f: 50)
    let urn = "urn:ogc:def:crs:EPSG::4326"
    let flipped = place(point(urn, "49.875 10.25"), ["0 0.5", "-0.25 0"])
    #expect(flipped.affine == expected && flipped.crs == "EPSG:4326")
    let easting = place(point(urn, "10.25 49.875"), ["0.5 0", "0 -0.25"], axes: ["Longitude", "Latitude"])
    #expect(easting.affine == expected)
    let other = place(
      point(urn, "49.875 10.25"), ["-0.25 0", "0 0.5"], more: "<!-- GDAL_JP2K_ALT_OFFSETVECTOR_ORDER=TRUE -->")
    #expect(other.affine == expected)
    let short = place(point("EPSG:4326", "10.25,49.875"), ["0.5,0", "0,-0.25"])
    #expect(short.affine == expected && short.crs == "EPSG:4326")
    let web = place(point("http://www.opengis.net/def/crs/EPSG/0/32633", "10.25 49.875"), ["0.5 0", "0 -0.25"])
    #expect(web.affine == expected && web.crs == "EPSG:32633")
    let envelope = place(
      "<gml:Point><gml:pos>10.25 49.875</gml:pos></gml:Point>", ["0.5 0", "0 -0.25"],
      more: "<gml:Envelope srsName=\"urn:ogc:def:crs:EPSG:6.18:32633\"/>")
    #expect(envelope.affine == expected && envelope.crs == "EPSG:32633")
    #expect(place(point(urn, "49.875"), ["0 0.5", "-0.25 0"]).affine == nil)
    #expect(place(point(urn, "49.875 x"), ["0 0.5", "-0.25 0"]).affine == nil)
    #expect(place(point(urn, "49.875 10.25"), ["0 0.5"]).affine == nil)
    #expect(GMLCoverage(Array("<a><RectifiedGrid>".utf8)) { _ in false }.affine == nil)
  }

  @Test("The coarser versions in a JPEG 2000 are overviews", .enabled(if: GDALPrograms.arePresent))
  func jpeg2000Overview() throws {
    let original = try tiff("map.tif") {
      $0.sample = { x, y, band in Double(40 + (band == 0 ? x : band == 1 ? y : x + y) / 3) }
    }
    let path = folder.file("map.jp2")
    try GDALPrograms.make(
      "gdal_translate", original, path, "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co", "QUALITY=100")
    let source = try open(path)
    let overview = try #require(try source.overview(factorMax: 4.5))
    #expect(overview.width == 75 && overview.height == 50)
    #expect(try source.overview(factorMax: 1.5) == nil)
    let (fine, coarse) = (try source.words(), try overview.words())
    for i in stride(from: 0, to: coarse.count, by: 11) {
      let centre = fine[(i / 75 * 4 + 2) * 300 + i % 75 * 4 + 2]
      for shift in [UInt32(0), 8, 16] {
        #expect(abs(Int(coarse[i] >> shift & 255) - Int(centre >> shift & 255)) <= 4)
      }
    }
  }

  @Test("The mask in the file beside a JPEG 2000 hides pixels", .enabled(if: GDALPrograms.arePresent))
  func jpeg2000Mask() throws {
    let path = folder.file("map.jp2")
    try GDALPrograms.make(
      "gdal_translate", tiff("map.tif"), path, "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co", "QUALITY=100")
    let words = try open(path).words()
    let mask = try tiff("mask.tif") {
      ($0.samples, $0.photometric) = (1, 1)
      $0.sample = { x, y, _ in x > y ? 255 : 0 }
    }
    try FileManager.default.moveItem(atPath: mask, toPath: "\(path).msk")
    let masked = try open(path)
    #expect(masked.alphaKind == .mask)
    #expect(try masked.overview(factorMax: 4) == nil)
    #expect(try masked.words() == words.indices.map { $0 % 300 > $0 / 300 ? words[$0] : 0 })
  }

  @Test("A 16-bit JPEG 2000 needs a scale", .enabled(if: GDALPrograms.arePresent), arguments: [1, 2])
  func wideJPEG2000(format: Int) throws {
    let original = try tiff("map.tif") {
      ($0.samples, $0.photometric, $0.bits, $0.format) = (1, 1, 16, format)
      $0.sample = { x, y, _ in Double((format == 2 ? -200 : 100) + x * 3 + y) }
    }
    let path = folder.file("map.jp2")
    try GDALPrograms.make(
      "gdal_translate", original, path, "-of", "JP2OpenJPEG", "-co", "REVERSIBLE=YES", "-co", "QUALITY=100")
    let error = #expect(throws: CutError.self) { try open(path) }
    #expect(
      error?.description.contains(format == 2 ? "--scale -200,896" : "--scale 100,1196") == true,
      "\(String(describing: error))")
    let scale = try SampleScale(low: 0, high: 1000)
    #expect(try open(path) { $0.scale = scale }.words() == open(original) { $0.scale = scale }.words())
  }

  @Test("A damaged JPEG 2000 is refused", .enabled(if: GDALPrograms.arePresent))
  func damagedJPEG2000() throws {
    let path = folder.file("map.jp2")
    try GDALPrograms.make("gdal_translate", tiff("map.tif"), path, "-of", "JP2OpenJPEG")
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    for share in [0.02, 0.3, 0.7] {
      try whole.prefix(Int(Double(whole.count) * share)).write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: CutError.self, "\(share)") { try open(path).words() }
      #expect(error?.path == path)
    }
  }

  @Test("Boxes that end the process in OpenJPEG are refused before")
  func damagedBoxes() throws {
    func box(_ type: String, _ content: [UInt8], open: Bool = false) -> [UInt8] {
      [0, 0, 0, open ? 0 : UInt8(8 + content.count)] + Array(type.utf8) + content
    }
    let start =
      box("jP  ", [0x0d, 0x0a, 0x87, 0x0a]) + box("ftyp", Array("jp2 ".utf8) + [0, 0, 0, 0] + Array("jp2 ".utf8))
    let path = folder.file("map.jp2")
    for rest in [box("xxxx", [1, 2, 3], open: true), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0x44], box("uuid", [9])] {
      try Data(start + rest).write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: CutError.self) { try open(path) }
      #expect(error?.code == .badSource)
    }
  }

  // MARK: - WebP

  @Test("A WebP is read with its alpha, and placed by a world file", arguments: [true, false])
  func webP(hasAlpha: Bool) throws {
    let words = (0..<60 * 40).map { i in
      hasAlpha ? rgba(i % 256, 10, 20, i % 60 < 10 ? 0 : i % 60 < 20 ? 100 : 255) : rgba(i % 256, 10, 20)
    }
    let pixels = PixelBuffer(width: 60, height: 40)
    for (i, word) in words.enumerated() { pixels.bytes.storeBytes(of: word, toByteOffset: i * 4, as: UInt32.self) }
    let path = folder.file("map.webp")
    try Data(TileEncoder(.webp(WebPOptions())).encode(pixels)).write(to: URL(fileURLWithPath: path))
    try folder.write("map.wpw", "0.5\n0\n0\n-0.5\n10\n50\n")
    try folder.write("map.prj", "EPSG:4326")
    let source = try open(path)
    #expect(try source.words() == words)
    #expect(source.alphaKind == (hasAlpha ? .soft : .opaque))
    #expect(source.georeference.affine.c == 9.75)
    let error = #expect(throws: CutError.self) { try open(path) { $0.cacheBytesMax = 5000 } }
    #expect(error?.message.contains("MB to decode") == true && error?.remedy?.hasPrefix("convert it to a ") == true)
    try Data(contentsOf: URL(fileURLWithPath: path)).prefix(30).write(to: URL(fileURLWithPath: path))
    #expect(throws: CutError.self) { try open(path) }
  }

  // MARK: - VRT

  private func vrt(_ bands: String, size: (Int, Int) = (300, 200), attributes: String = "") throws -> String {
    try folder.write(
      "mosaic.vrt",
      """
      <VRTDataset rasterXSize="\(size.0)" rasterYSize="\(size.1)"\(attributes)>
        <SRS dataAxisToSRSAxisMapping="2,1">EPSG:4326</SRS>
        <GeoTransform> 1.0e+01, 1.0e-01, 0, 5.0e+01, 0, -1.0e-01</GeoTransform>
        \(bands)
      </VRTDataset>
      """)
    return folder.file("mosaic.vrt")
  }

  @Test(
    "A mosaic that gdalbuildvrt makes has the pixels that GDAL reads from it",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)),
    arguments: ["plain", "nodata", "alpha", "bands", "separate"])
  func mosaic(kind: String) throws {
    var paths: [String] = []
    for i in 0..<3 {
      paths.append(
        try tiff("part\(i).tif") {
          ($0.width, $0.height) = (120, 100)
          if kind == "separate" { ($0.samples, $0.photometric) = (1, 1) }
          let shift = kind == "separate" ? 0 : i
          $0.tags[33922] = .double([0, 0, 0, 10 + Double(shift) * 9, 50 - Double(shift) * 4, 0])
          $0.sample = { x, y, band in x < 15 && y < 30 ? 0 : Double(20 + (x * 3 + y * 5 + band * 70 + i * 31) % 200) }
          if kind == "nodata" { $0.tags[42113] = .text("0") }
        })
    }
    let path = folder.file("mosaic.vrt")
    let options: [String] =
      switch kind {
      case "nodata": ["-srcnodata", "0"]
      case "alpha": ["-addalpha"]
      case "bands": ["-b", "3", "-b", "2", "-b", "1"]
      case "separate": ["-separate"]
      default: []
      }
    let made = try #require(try run("gdalbuildvrt", ["-q"] + options + [path] + paths))
    try #require(made.status == 0, "\(made.output)")
    let flat = folder.file("flat.tif")
    try GDALPrograms.make(
      "gdal_translate", path, flat, "-co", "PHOTOMETRIC=\(kind == "separate" ? "MINISBLACK" : "RGB")")
    let (source, expected) = (
      try open(path),
      try open(flat) {
        $0.alpha = kind == "alpha" ? .number(4) : nil
        // The VRT says that its bands are blue, green and red; the copy has lost that.
        if kind == "bands" { $0.bands = [3, 2, 1] }
      }
    )
    #expect(source.width == expected.width && source.georeference.affine == expected.georeference.affine)
    let (found, wanted) = (try source.words(), try expected.words())
    // GDAL fills what no source covers with zeros; here it is transparent.
    let wrong = zip(found, wanted).filter { $0 != $1 && !($0 == 0 && $1 == rgba(0, 0, 0)) }.count
    #expect(wrong == 0, "\(wrong) of \(wanted.count)")
    #expect(found.contains(0) == (kind != "separate"))
    let window = PixelRect(x: 70, y: 33, width: 50, height: 60)
    #expect(try source.words(window).words == crop(found, width: source.width, window))
  }

  @Test(
    "Rectangles of other sizes are resampled to the nearest pixel, as GDAL does",
    .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)))
  func rectangles() throws {
    _ = try tiff("a.tif")
    let band = { (n: Int) in
      """
      <VRTRasterBand dataType="Byte" band="\(n)"><ColorInterp>\(["Red", "Green", "Blue"][n - 1])</ColorInterp>
        <SimpleSource><SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>\(n)</SourceBand>
          <SrcRect xOff="10" yOff="20" xSize="200" ySize="150"/><DstRect xOff="30" yOff="5" xSize="100" ySize="75"/>
        </SimpleSource>
        <SimpleSource><SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>\(n)</SourceBand>
          <SrcRect xOff="0" yOff="0" xSize="50" ySize="40"/><DstRect xOff="100" yOff="60" xSize="150" ySize="120"/>
        </SimpleSource>
      </VRTRasterBand>
      """
    }
    let path = try vrt((1...3).map(band).joined())
    let flat = folder.file("flat.tif")
    try GDALPrograms.make("gdal_translate", path, flat)
    let (found, wanted) = (try open(path).words(), try open(flat).words())
    let wrong = zip(found, wanted).filter { $0 != $1 && !($0 == 0 && $1 == rgba(0, 0, 0)) }.count
    #expect(wrong == 0, "\(wrong) of \(wanted.count)")
  }

  @Test(
    "A VRT that computes values, is damaged, or refers to itself is refused with what to do",
    arguments: [
      "<VRTRasterBand subClass=\"VRTDerivedRasterBand\" band=\"1\"/>",
      "<VRTRasterBand band=\"1\"><KernelFilteredSource/></VRTRasterBand>",
      """
      <VRTRasterBand band="1"><ComplexSource><SourceFilename>a</SourceFilename><ScaleRatio>2</ScaleRatio>\
      </ComplexSource></VRTRasterBand>
      """,
      """
      <VRTRasterBand band="1"><ComplexSource><SourceFilename>a</SourceFilename><LUT>0:1</LUT></ComplexSource>\
      </VRTRasterBand>
      """,
      "<VRTRasterBand band=\"1\"><SimpleSource/></VRTRasterBand>", "", "<VRTRasterBand>",
      "<Other><NoDataValue>0</NoDataValue><ColorInterp>Red</ColorInterp><SimpleSource></SimpleSource></Other>",
      """
      <VRTRasterBand band="1"><SimpleSource><SourceFilename relativeToVRT="1">mosaic.vrt</SourceFilename>\
      </SimpleSource></VRTRasterBand>
      """,
    ])
  func refused(bands: String) throws {
    let path = try vrt(bands)
    let error = #expect(throws: CutError.self) { try open(path) }
    #expect(error?.code == .badSource && error?.remedy != nil, "\(String(describing: error))")
  }

  @Test("A VRT whose file is missing names that file")
  func missingFile() throws {
    let path = try vrt(
      """
      <VRTRasterBand band="1"><SimpleSource><SourceFilename relativeToVRT="1">gone.tif</SourceFilename>\
      </SimpleSource></VRTRasterBand>
      """
    )
    let error = #expect(throws: CutError.self) { try open(path) }
    #expect(error?.code == .unreadableSource && error?.path?.hasSuffix("gone.tif") == true)
    #expect(VRTDocument.files(of: path).map { $0.hasSuffix("gone.tif") } == [true])
  }
}
