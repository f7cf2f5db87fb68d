import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Kernels for which there are no stored reference tiles, compared with GDAL's at the time of the test.
@Suite(.ownThread, .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)))
struct GDALKernelTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  typealias Case = ReferenceTests.Case

  /// Rasters that their zoom does not shrink: shrinking with Lanczos, GDAL 3.6 moves the picture by up to half a pixel
  /// of the source.
  static let cases = [
    Case(folder: "RGB_byte_utm18n", raster: "RGB.byte.tif"),
    Case(folder: "naip_3857", raster: "usda_naip_512_deflate_z2.tif"),
    Case(folder: "rmnp_rgb_4326", raster: "rmnp-rgb.tif"),
    Case(folder: "world_rgb", raster: "world.rgb.tif"),
  ]

  private func picture(_ file: String) throws -> PixelBuffer {
    try folder.bytes(file).withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  /// The tiles of the stored references' command lines, with another kernel.
  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)), arguments: cases)
  func lanczosIsThatOfGdalwarp(_ test: Case) throws {
    let raster = TestData.url("maps/rasters/\(test.raster)").path
    let commands = try String(
      contentsOf: TestData.url("maps/reference/\(test.folder)/commands.txt"), encoding: .utf8)
    var boxes: [(tile: TileID, box: [String])] = []
    for line in commands.split(whereSeparator: \.isNewline) where line.contains("-r cubic") {
      let words = line.split(separator: " ").map(String.init)
      guard let box = words.firstIndex(of: "-te"), let name = words.last?.split(separator: "/").last else { continue }
      let n = name.split(whereSeparator: { "_.".contains($0) }).compactMap { Int($0) }
      boxes.append((try TileID(zoom: n[0], column: n[1], row: n[2]), Array(words[box + 1...box + 4])))
    }
    let zoom = try #require(boxes.first).tile.zoom
    var options = CutOptions(sources: [raster])
    options.resampling = .lanczos
    options.zoom = .levels(zoom...zoom)
    _ = try Cutter(options).cut(to: folder.file("out.mbtiles"))
    let bundle = try MBTilesReader(path: folder.file("out.mbtiles"))
    for (tile, box) in boxes.prefix(4) {
      _ = try run(
        "gdalwarp",
        ["-q", "-overwrite", "-et", "0", "-t_srs", "EPSG:3857", "-wo", "UNIFIED_SRC_NODATA=YES", "-wo"]
          + ["SOURCE_EXTRA=16", "-dstalpha", "-r", "lanczos", "-te"] + box + ["-ts", "256", "256", raster]
          + [folder.file("t.tif")])
      try GDALPrograms.make("gdal_translate", "-of", "PNG", folder.file("t.tif"), folder.file("t.png"))
      let ours = try #require(try bundle.tile(tile), "\(tile)").withUnsafeBytes { try ImageDecoder.decode($0) }
      let difference = TileDifference(ours, try picture("t.png"))
      #expect(difference.maskShare <= 0.005 && difference.psnr >= 40, "\(tile): \(difference)")
    }
  }

  /// Halved by `gdaladdo -r gauss`. Its 3 x 3 matrix lies on a pixel of the source, half a pixel of it to the right of
  /// and below the middle of the target pixel; so does the map here.
  @Test func gaussIsThatOfGdaladdo() throws {
    let cell = TileMatrixSet.webMercatorQuad[8].cellSize
    func source(_ name: String, shift: Double) throws -> String {
      var fixture = TIFFFixture()
      (fixture.width, fixture.height, fixture.samples, fixture.photometric) = (512, 512, 3, 2)
      fixture.tags = [
        33550: .double([cell, cell, 0]), 33922: .double([0, 0, 0, shift * cell, (512 - shift) * cell, 0]),
        34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857]),
      ]
      fixture.sample = { x, y, band in
        let grain = Double((x &* 7919 &+ y &* 104_729 &+ x &* y &* 31) & 31)
        return (100 + 70 * sin(Double(x) / 9 + Double(band)) * cos(Double(y) / 7) + grain).rounded()
      }
      return try fixture.write(folder, name)
    }
    let plain = try source("plain.tif", shift: 0)
    _ = try run("gdaladdo", ["-q", "-r", "gauss", plain, "2"])
    try GDALPrograms.make("gdal_translate", "-of", "PNG", "-oo", "OVERVIEW_LEVEL=0", plain, folder.file("half.png"))
    let theirs = try picture("half.png")
    #expect(theirs.width == 256)
    // The same pixels without the overview, half a pixel to the left and above.
    var options = CutOptions(sources: [try source("shifted.tif", shift: -0.5)])
    options.resampling = .gauss
    options.zoom = .levels(7...7)
    _ = try Cutter(options).cut(to: folder.file("out.mbtiles"))
    let tile = try TileID(zoom: 7, column: 64, row: 63)
    let ours = try #require(try MBTilesReader(path: folder.file("out.mbtiles")).tile(tile)).withUnsafeBytes {
      try ImageDecoder.decode($0)
    }
    var squares = 0.0
    for y in 4..<252 {
      for x in 4..<252 {
        for band in 0..<3 {
          let difference = Double(ours[x, y][band]) - Double(theirs[x, y][band])
          squares += difference * difference
        }
      }
    }
    let psnr = 10 * log10(255 * 255 * 248 * 248 * 3 / max(squares, 1))
    #expect(psnr >= 40, "\(psnr) dB")
  }
}
