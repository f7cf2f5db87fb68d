import Foundation
import TestSupport
import Testing
import TileCut
import TileIndex

/// Real rasters, compared with what GDAL reads from them.
@Suite("Real rasters", .ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct RasterDataTests {
  private func open(_ name: String, _ options: RasterOpenOptions = RasterOpenOptions()) throws -> any RasterSource {
    try RasterFile.open(path: TestData.url("maps/rasters/\(name)").path, options: options)
  }

  /// The options of the files that need a scale.
  private func openScaled(_ name: String) throws -> any RasterSource {
    do { return try open(name) } catch let error as CutError where error.remedy?.contains("--scale") == true {
      return try open(name, RasterOpenOptions(scale: SampleScale(low: 0, high: 255)))
    }
  }

  static let lossless = [
    "LZW", "DEFLATE", "ZSTD", "LZMA", "WEBP", "NONE_separate", "LZW_separate", "NONE_tiled", "DEFLATE_tiled_separate",
    "byte_LZW_predictor_2",
  ]

  @Test("Every lossless compression and layout gives the same pixels", arguments: lossless)
  func losslessGroup(name: String) throws {
    #expect(try open("rgbsmall_\(name).tif").words() == open("rgbsmall_NONE.tif").words())
  }

  @Test(
    "Every lossy compression gives nearly the same pixels",
    arguments: ["JPEG", "JPEG_separate", "JPEG_tiled", "JPEG_ycbcr"])
  func lossyGroup(name: String) throws {
    let plain = try open("rgbsmall_NONE.tif").words()
    let lossy = try open("rgbsmall_\(name).tif").words()
    var sum = 0
    for (a, b) in zip(plain, lossy) {
      for shift in [UInt32(0), 8, 16] {
        let difference = Int(a >> shift & 255) - Int(b >> shift & 255)
        sum += difference * difference
      }
    }
    #expect(Double(sum) / Double(plain.count * 3) < 120)
    #expect(lossy.allSatisfy { $0 >> 24 == 255 })
  }

  @Test("Sixteen-bit samples with a scale of 0 to 255 give the same pixels")
  func wideGroup() throws {
    #expect(try openScaled("rgbsmall_uint16_LZW_predictor_2.tif").words() == open("rgbsmall_NONE.tif").words())
  }

  @Test("The same scene gives the same pixels in three layouts", arguments: ["rgb_lzw.tif", "rgb_deflate.tif"])
  func scene(name: String) throws {
    let plain = try open("RGB.byte.tif")
    let other = try open(name)
    #expect(try plain.words() == other.words())
    #expect(plain.alphaKind == .mask && other.alphaKind == .mask)
  }

  @Test(
    "The kind of alpha is recognised",
    arguments: [
      ("usda_naip_512_deflate_z2.tif", AlphaKind.soft), ("alpha.tif", .soft), ("cog_rgba.tif", .soft),
      ("cog_rgb_mask.tif", .mask), ("usda_naip_512_jpeg_z5.tif", .mask), ("nlcd.tif", .mask), ("utm.tif", .opaque),
      ("image_colormap.tif", .opaque), ("world.rgb.tif", .opaque), ("rmnp-rgb.tif", .mask),
    ])
  func alphaKind(name: String, kind: AlphaKind) throws {
    #expect(try open(name).alphaKind == kind)
  }

  @Test("An internal mask hides as many pixels as in GDAL")
  func internalMask() throws {
    // Counted in the mask and alpha bands with GDAL 3.6.2.
    #expect(try open("cog_rgb_mask.tif").words().count { $0 == 0 } == 2739)
    #expect(try open("cog_rgba.tif").words().count { $0 == 0 } == 10044)
  }

  /// The lines of INDEX.md that give GDAL's bounds: name and west, south, east, north.
  private func indexBounds() throws -> [(String, [Double])] {
    let text = try String(contentsOf: TestData.url("maps/INDEX.md"), encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| rasters/"),
        let mark = line.range(of: "WGS84 -", options: [.backwards]) ?? line.range(of: "· WGS84 ")
      else { return nil }
      let name = line.dropFirst("| rasters/".count).prefix { $0 != " " }
      let start = line[mark].hasSuffix("-") ? line.index(before: mark.upperBound) : mark.upperBound
      let numbers = line[start...].prefix { $0 != " " }.split(separator: ",").compactMap { Double($0) }
      return numbers.count == 4 ? (String(name), numbers) : nil
    }
  }

  @Test("Bounds equal those of GDAL")
  func bounds() throws {
    let facts = try indexBounds()
    #expect(facts.count > 55)
    // Their bounds cross the antimeridian, which the index cannot express.
    let acrossTheDateLine = ["alaska-shadedrelief-naturalearth.tif", "cog_dateline.tif"]
    // Damaged, and misread by GDAL.
    let others = ["corrupt.tif", "epsg_27563_allgeokeys.tif"]
    for (name, box) in facts where !acrossTheDateLine.contains(name) && !others.contains(name) {
      let source = try openScaled(name)
      let found = try #require(source.georeference.geographicBounds(width: source.width, height: source.height))
      let differences = zip([found.west, found.south, found.east, found.north], box).map { abs($0 - $1) }
      // The index has bounds of the corners, ours include the edges, which extend further for large rasters in curved
      // projections.
      let slack =
        name == "image_colormap.tif" ? 0.01 : name == "vestfold.tif" || name == "geomatrix.tif" ? 1e-3 : 1.1e-5
      #expect(differences.allSatisfy { $0 < slack }, "\(name): \(found) is not \(box)")
    }
  }

  @Test("In bounds across the antimeridian west exceeds east")
  func antimeridian() throws {
    for name in ["alaska-shadedrelief-naturalearth.tif", "cog_dateline.tif"] {
      let source = try openScaled(name)
      let box = try #require(source.georeference.geographicBounds(width: source.width, height: source.height))
      #expect(box.west > 150 && box.east < -100, "\(name): \(box)")
    }
  }

  @Test("An EPSG code takes precedence over keys that repeat it")
  func codeBeforeKeys() throws {
    // Its latitudes are in grads. GDAL 3.6 reads them as degrees, 540 km too far north; test_gf.tif has the same place
    // in the neighbouring zone.
    let box = try #require(open("epsg_27563_allgeokeys.tif").georeference.geographicBounds(width: 10, height: 10))
    let same = try #require(open("test_gf.tif").georeference.geographicBounds(width: 10, height: 10))
    #expect(abs(box.west - same.west) < 1e-4 && abs(box.north - same.north) < 1e-4)
  }

  @Test(
    "Web Mercator is recognised", arguments: ["WGS_1984_Web_Mercator_Auxiliary_Sphere.tif", "shade.tif", "cogeo.tif"])
  func webMercator(name: String) throws {
    #expect(try open(name).georeference.crs.isWebMercator)
  }

  @Test(
    "Affine transformations equal those of GDAL",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gdalinfo"), "gdalinfo is not installed"))
  func affineMaps() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: TestData.url("maps/rasters").path)
      .filter { $0.hasSuffix(".tif") && $0 != "corrupt.tif" }.sorted()
    var compared = 0
    for name in names {
      guard let expected = try gdalTransform(TestData.url("maps/rasters/\(name)").path) else { continue }
      var options = RasterOpenOptions()
      var source: any RasterSource
      do { source = try openScaled(name) } catch let error as CutError where error.message.contains("has coordinates") {
        options.crs = .webMercator
        options.scale = try? SampleScale(low: 0, high: 255)
        source = try open(name, options)
      }
      let map = source.georeference.affine
      let found = [map.c, map.a, map.b, map.f, map.d, map.e]
      #expect(
        zip(found, expected).allSatisfy { abs($0 - $1) <= 1e-12 * max(1, abs($1)) },
        "\(name): \(found) is not \(expected)")
      compared += 1
    }
    #expect(compared > 60)
  }

  private func gdalTransform(_ path: String) throws -> [Double]? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/gdalinfo")
    process.arguments = ["-json", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let json = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    return (json?["geoTransform"] as? [NSNumber])?.map(\.doubleValue)
  }
}
