import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Relief of elevation models: shades, slopes and tints beside gdaldem's, and what tiles show of them.
@Suite(.ownThread)
struct ReliefTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Hills of 16-bit heights with pixels of 30 m where a transverse Mercator has no distortion.
  private func hills(
    _ name: String, width: Int = 160, height: Int = 120, degrees: Double? = nil, nodata: Bool = false
  ) throws -> String {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.bits, fixture.format) = (width, height, 16, 2)
    fixture.rowsPerStrip = 16
    if let degrees {
      fixture.tags = TIFFFixture.placed
      fixture.tags[33550] = .double([degrees, degrees, 0])
    } else {
      fixture.tags = [
        33550: .double([30, 30, 0]), 33922: .double([0, 0, 0, 500_000, 5_000_000, 0]),
        34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633]),
      ]
    }
    if nodata { fixture.tags[42113] = .text("-9999") }
    fixture.sample = { x, y, _ in
      if nodata, (x - 60) * (x - 60) + (y - 60) * (y - 60) < 100 { return -9999 }
      let (u, v) = (Double(x) / 11, Double(y) / 9)
      let hills = 420 * sin(u) * cos(v)
      let bumps = 150 * sin(3.1 * u + 1.7 * v)
      return (900 + hills + bumps + 2 * Double(x)).rounded()
    }
    return try fixture.write(folder, name)
  }

  private func relief(_ path: String, _ style: ReliefLayer, factor: Int = 1) throws -> ReliefRaster {
    try ReliefRaster(RasterFile.open(path: path, options: RasterOpenOptions().forHeights), style, factor: factor)
  }

  /// The share of pixels whose channels all differ by at most a level.
  private func likeness(_ ours: [UInt32], _ theirs: [UInt32]) -> Double {
    var equal = 0
    for (a, b) in zip(ours, theirs) where isAlike(a, b) { equal += 1 }
    return Double(equal) / Double(max(ours.count, theirs.count))
  }

  private func isAlike(_ a: UInt32, _ b: UInt32) -> Bool {
    let (a, b) = (unsafeBitCast(a, to: SIMD4<UInt8>.self), unsafeBitCast(b, to: SIMD4<UInt8>.self))
    for i in 0..<4 where abs(Int(a[i]) - Int(b[i])) > 1 { return false }
    return true
  }

  /// A pixel with a height.
  private func pixel(_ height: Double) -> SIMD4<UInt8> {
    unsafeBitCast(HeightCode.word(height), to: SIMD4<UInt8>.self)
  }

  // MARK: - gdaldem

  struct Light: CustomTestStringConvertible {
    var style = ReliefLayer()
    let arguments: [String]
    var testDescription: String { arguments.joined(separator: " ") }

    init(_ arguments: String..., change: (inout ReliefLayer) -> Void) {
      self.arguments = arguments
      change(&style)
    }
  }

  static let lights = [
    Light { _ in },
    Light("-az", "200", "-alt", "30") { ($0.azimuth, $0.altitude) = (200, 30) },
    Light("-z", "2.5") { $0.exaggeration = 2.5 },
    Light("-multidirectional") { $0.shading = .multidirectional },
    Light("-multidirectional", "-alt", "60", "-z", "0.5") {
      ($0.shading, $0.altitude, $0.exaggeration) = (.multidirectional, 60, 0.5)
    },
  ]

  private static let needsGDAL = ConditionTrait.enabled(
    if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage))

  @Test(needsGDAL, arguments: lights)
  func hillshadeIsThatOfGdaldem(_ light: Light) throws {
    let dem = try hills("dem.tif", nodata: true)
    _ = try run(
      "gdaldem", ["hillshade", "-q", "-compute_edges"] + light.arguments + [dem, folder.file("theirs.tif")])
    let theirs = try RasterFile.open(path: folder.file("theirs.tif"), options: RasterOpenOptions()).words()
    let share = likeness(try relief(dem, light.style).words(), theirs)
    #expect(share >= 0.99, "\(share) of the pixels are within a level")
  }

  @Test(needsGDAL, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func hillshadeOfRealMountainsIsThatOfGdaldem() throws {
    let dem = folder.file("dem.tif")
    let projection = "+proj=tmerc +lat_0=37.32 +lon_0=-113.05 +datum=WGS84 +units=m"
    try GDALPrograms.make(
      "gdalwarp", "-t_srs", projection, "-tr", "90", "90", "-r", "cubic", "-ot", "Float32",
      TestData.url("maps/rasters/srtm.tif").path, dem)
    _ = try run("gdaldem", ["hillshade", "-q", "-compute_edges", dem, folder.file("theirs.tif")])
    let theirs = try RasterFile.open(path: folder.file("theirs.tif"), options: RasterOpenOptions()).words()
    let share = likeness(try relief(dem, ReliefLayer()).words(), theirs)
    #expect(share >= 0.99, "\(share) of the pixels are within a level")
  }

  @Test(needsGDAL)
  func tintIsThatOfGdaldem() throws {
    let ramp = "# heights\n-100 blue\n600\t20 90 40\n900, 200:180:120\n900 255 0 0 128\n1500 white\nnv 0 0 0 0\n"
    let dem = try hills("dem.tif", nodata: true)
    _ = try run(
      "gdaldem",
      ["color-relief", "-q", "-alpha", dem, try folder.write("ramp.txt", ramp), folder.file("theirs.tif")])
    let theirs = try RasterFile.open(path: folder.file("theirs.tif"), options: RasterOpenOptions()).words()
    var style = ReliefLayer()
    style.shading = .none
    style.tint = try ColourRamp(gdalText: ramp)
    let share = likeness(try relief(dem, style).words(), theirs)
    #expect(share >= 0.99, "\(share) of the pixels are within a level")
  }

  /// gdaldem's slopes in degrees become white, level, to black, vertical.
  @Test(needsGDAL)
  func slopeIsThatOfGdaldem() throws {
    let dem = try hills("dem.tif")
    _ = try run("gdaldem", ["slope", "-q", "-compute_edges", dem, folder.file("slope.tif")])
    var options = RasterOpenOptions()
    options.scale = try SampleScale(low: 90, high: 0)
    let theirs = try RasterFile.open(path: folder.file("slope.tif"), options: options).words()
    var style = ReliefLayer()
    style.shading = .slope
    let share = likeness(try relief(dem, style).words(), theirs)
    #expect(share >= 0.99, "\(share) of the pixels are within a level")
    style.shading = .none
    style.tintBy = .slope
    style.tint = try ColourRamp(gdalText: "0 white\n90 black")
    let tinted = likeness(try relief(dem, style).words(), theirs)
    #expect(tinted >= 0.99)
  }

  // MARK: - The ground

  /// A plane that rises to the east by one in two on the ground has the same shade at any latitude and in any CRS.
  @Test(arguments: [("EPSG:4326", 0.0), ("EPSG:4326", 60), ("EPSG:3857", 60), ("EPSG:32633", 60)])
  func slopesAreThoseOfTheGround(_ crs: String, latitude: Double) throws {
    let system = try CoordinateReferenceSystem(definition: crs)
    let toPlane = try CoordinateTransform(from: .wgs84LongLat, to: system)
    let centre = toPlane.transform(SIMD2(15, latitude))
    let cell = system.isGeographic ? 0.001 : 100.0
    let metresPerDegree = 111_412.84 * cos(latitude * .pi / 180) - 93.5 * cos(3 * latitude * .pi / 180)
    // At 15 degrees east, zone 33 has no convergence, and a scale of 0.9996.
    let stretch = crs == "EPSG:3857" ? metresPerDegree / (2 * WebMercator.halfWorld / 360) : 1 / 0.9996
    let metres = system.isGeographic ? cell * metresPerDegree : cell * stretch
    let plane = ArraySource(
      width: 9, height: 9, crs: system,
      affine: Affine(a: cell, b: 0, c: centre.x - 4.5 * cell, d: 0, e: -cell, f: centre.y + 4.5 * cell)
    ) { x, _ in pixel(Double(x) * metres / 2) }
    var style = ReliefLayer()
    (style.azimuth, style.altitude) = (270, 30)
    // The light falls on a slope that rises away from it: sin 30 + cos 30 / 2 over the length of the normal.
    let light = (0.5 + 0.75.squareRoot() / 2) / 1.25.squareRoot()
    let words = try ReliefRaster(plane, style).words()
    let wanted = Int(1 + 254 * light + 0.5)
    for word in words { #expect(abs(Int(word & 255) - wanted) <= 1) }
  }

  /// Heights between the model's pixels make a smooth shade; enlarged shades are off by many levels.
  @Test func heightsAreInterpolatedBeforeTheyAreShaded() throws {
    func surface(_ x: Double, _ y: Double) -> Double { 500 + 300 * sin(x / 4) * cos(y / 5) }
    func source(_ size: Int, _ step: Double) throws -> ArraySource {
      ArraySource(
        width: size, height: size, crs: try CoordinateReferenceSystem(definition: "EPSG:32633"),
        affine: Affine(a: 100 * step, b: 0, c: 500_000, d: 0, e: -100 * step, f: 5_000_000)
      ) { x, y in pixel(surface((Double(x) + 0.5) * step, (Double(y) + 0.5) * step)) }
    }
    let exact = try ReliefRaster(try source(160, 0.25), ReliefLayer())
    let refined = try ReliefRaster(try source(40, 1), ReliefLayer(), factor: 4)
    let inner = PixelRect(x: 16, y: 16, width: 128, height: 128)
    let (a, b) = (try exact.words(inner).words, try refined.words(inner).words)
    var errors: [Int] = []
    for (mine, wanted) in zip(b, a) { errors.append(abs(Int(mine & 255) - Int(wanted & 255))) }
    errors.sort()
    #expect(errors[errors.count * 95 / 100] <= 6 && errors.last! <= 16, "\(errors.last!)")
    // Any window is a part of the whole.
    let part = PixelRect(x: 37, y: 61, width: 50, height: 21)
    let whole = PixelRect(x: 0, y: 0, width: 160, height: 160)
    #expect(try refined.words(part).words == crop(try refined.words(whole).words, width: 160, part))
  }

  @Test func missingHeightsAreTransparentAndShadeNothing() throws {
    let dem = try hills("dem.tif", nodata: true)
    let whole = try relief(try hills("whole.tif"), ReliefLayer()).words()
    let holed = try relief(dem, ReliefLayer()).words()
    #expect(holed.contains(0) && holed.allSatisfy { $0 == 0 || $0 >> 24 == 255 })
    // Beside the hole the slope goes on.
    let beside = holed.indices.filter { holed[$0] != 0 && holed[$0] != whole[$0] }
    #expect(beside.count < 120)
    for index in beside { #expect(abs(Int(holed[index] & 255) - Int(whole[index] & 255)) < 60) }
  }

  @Test func overlayLeavesLevelGroundTransparent() throws {
    var style = ReliefLayer()
    style.isOverlay = true
    let flat = ArraySource(
      width: 4, height: 4, crs: .wgs84LongLat, affine: Affine(a: 1, b: 0, c: 0, d: 0, e: -1, f: 4)
    ) { _, _ in pixel(100) }
    #expect(try ReliefRaster(flat, style).words().allSatisfy { $0 == 0 })
    let words = try relief(try hills("dem.tif"), style).words()
    let shadows = words.filter { $0 & 0xff_ffff == 0 }
    #expect(shadows.contains { $0 >> 24 > 100 } && words.contains { $0 & 0xff_ffff == 0xff_ffff })
  }

  /// Full shade multiplies by the colour of shadows, and light goes half way to that of lit slopes.
  @Test(arguments: [false, true]) func shadowsAndLightsHaveTheirColours(isOverlay: Bool) throws {
    var style = ReliefLayer()
    (style.azimuth, style.altitude, style.strength, style.isOverlay) = (270, 45, 1, isOverlay)
    style.shadowColour = try #require(MapColour("#204080"))
    style.highlightColour = try #require(MapColour("#ffe0a0"))
    if !isOverlay { style.tint = try ColourRamp(gdalText: "0 100 200 100") }
    let shader = ReliefShader(style)
    // A slope of 45 degrees that faces the light, and one that turns away from it.
    let lit = unsafeBitCast(shader.word(height: 0, east: 1, north: 0), to: SIMD4<UInt8>.self)
    let dark = unsafeBitCast(shader.word(height: 0, east: -1, north: 0), to: SIMD4<UInt8>.self)
    /// Values in the middle between two may be rounded either way.
    func isNear(_ pixel: SIMD4<UInt8>, _ other: SIMD4<UInt8>) -> Bool {
      (0..<4).allSatisfy { abs(Int(pixel[$0]) - Int(other[$0])) <= 1 }
    }
    if isOverlay {
      #expect(isNear(lit, SIMD4(255, 224, 160, 128)) && isNear(dark, SIMD4(32, 64, 128, 255)), "\(lit) \(dark)")
    } else {
      #expect(isNear(lit, SIMD4(178, 212, 130, 255)) && isNear(dark, SIMD4(13, 50, 50, 255)), "\(lit) \(dark)")
    }
    #expect(shader.word(height: 0, east: 0, north: 0) == (isOverlay ? 0 : 0xff64_c864))
  }

  /// Slopes between the model's pixels neither jump nor swing, and a plane stays one.
  @Test func slopesOfRefinedHeightsAreSmooth() throws {
    func shades(_ height: @escaping (Int) -> Double) throws -> [Int] {
      let model = ArraySource(
        width: 24, height: 8, crs: try CoordinateReferenceSystem(definition: "EPSG:32633"),
        affine: Affine(a: 100, b: 0, c: 500_000, d: 0, e: -100, f: 5_000_000)
      ) { x, _ in pixel(height(x)) }
      let relief = try ReliefRaster(model, ReliefLayer(), factor: 8)
      return try relief.words(PixelRect(x: 16, y: 32, width: 160, height: 1)).words.map { Int($0 & 255) }
    }
    let plane = try shades { Double($0) * 20 }
    #expect(plane.max()! - plane.min()! <= 1)
    // A break of the slope: its shade goes from one level to the other without a swing beyond either.
    let edge = try shades { $0 < 12 ? 0 : Double($0 - 12) * 60 }
    for (a, b) in zip(edge, edge.dropFirst()) { #expect(b >= a, "\(edge)") }
    #expect(edge.first! < edge.last! - 20)
  }

  @Test(arguments: ["-9999", "0", "8848.86", "-430.5", "32767"])
  func heightsSurviveTheirCode(_ text: String) throws {
    let height = try #require(Double(text))
    #expect(abs(Double(HeightCode.height(HeightCode.word(height))) - height) <= 1.0 / 512)
    #expect(HeightCode.height(0).isNaN)
  }

  // MARK: - Tiles

  private func options(_ dems: [String], zoom: ClosedRange<Int>, change: (inout ReliefLayer) -> Void = { _ in })
    -> CutOptions
  {
    var style = ReliefLayer()
    change(&style)
    var options = CutOptions(sources: dems)
    for index in dems.indices {
      options.sourceSettings[index] = SourceSettings()
      options.sourceSettings[index]?.relief = style
    }
    options.zoom = .levels(zoom)
    return options
  }

  private func tiles(_ options: CutOptions, _ name: String) throws -> [TileID: [UInt8]] {
    _ = try Cutter(options).cut(to: folder.file(name))
    let bundle = try MBTilesReader(path: folder.file(name))
    var tiles: [TileID: [UInt8]] = [:]
    try bundle.forEachTile { tiles[$0] = Array($1) }
    return tiles
  }

  @Test(needsGDAL, arguments: [9, 12])
  func aModelInOnePieceAndInFourGivesEqualTiles(zoom: Int) throws {
    let dem = try hills("dem.tif", degrees: 0.001)
    let pieces = try [(0, 0), (70, 0), (0, 50), (70, 50)].enumerated().map { index, corner in
      let piece = folder.file("piece\(index).tif")
      let size = (corner.0 == 0 ? "70" : "90", corner.1 == 0 ? "50" : "70")
      try GDALPrograms.make(
        "gdal_translate", "-srcwin", "\(corner.0)", "\(corner.1)", size.0, size.1, dem, piece)
      return piece
    }
    let whole = try tiles(options([dem], zoom: zoom...zoom), "whole.mbtiles")
    #expect(whole.count >= (zoom == 9 ? 1 : 9))
    #expect(try tiles(options(pieces, zoom: zoom...zoom), "pieces.mbtiles") == whole)
  }

  @Test func aMapInOnePieceAndInFourHasEqualPixels() throws {
    let dem = try hills("dem.tif", degrees: 0.001)
    let whole = try tiles(options([dem], zoom: 11...11), "whole.mbtiles")
    var parts: [TileID: PixelBuffer] = [:]
    let (x, y) = (10.071, 49.953)
    let boxes = [(9.0, 49.0, x, y), (x, 49, 11, y), (9, y, x, 51), (x, y, 11, 51)]
    for (index, box) in boxes.enumerated() {
      var part = options([dem], zoom: 11...11)
      part.bounds = BoundingBox(west: box.0, south: box.1, east: box.2, north: box.3)
      for (tile, bytes) in try tiles(part, "part\(index).mbtiles") {
        let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
        if let other = parts[tile] { Overlay.draw(pixels, over: other) } else { parts[tile] = pixels }
      }
    }
    #expect(Set(parts.keys) == Set(whole.keys))
    for (tile, bytes) in whole {
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      #expect(memcmp(pixels.bytes, parts[tile]!.bytes, pixels.byteCount) == 0, "\(tile)")
    }
  }

  /// A model as 16-bit PNG is read like one as TIFF.
  @Test(needsGDAL)
  func modelsMayBePNG() throws {
    let dem = try hills("dem.tif", degrees: 0.001)
    try GDALPrograms.make(
      "gdal_translate", "-ot", "UInt16", "-of", "PNG", "-co", "WORLDFILE=YES", dem, folder.file("dem.png"))
    var style = options([folder.file("dem.png")], zoom: 10...10)
    style.sourceSettings[0]?.crs = "EPSG:4326"
    #expect(try tiles(style, "png.mbtiles") == tiles(options([dem], zoom: 10...10), "tiff.mbtiles"))
  }

  @Test func aFlatImageHasNoRelief() throws {
    var options = options([try hills("dem.tif")], zoom: 0...1)
    options.isFlat = true
    let error = #expect(throws: CutError.self) { try Cutter(options) }
    #expect(error?.code == .invalidOption && error?.description.contains("relief") == true)
  }
}
