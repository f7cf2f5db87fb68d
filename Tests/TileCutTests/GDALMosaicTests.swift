import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Compares mosaics and clipped maps with gdalwarp's.
@Suite(
  .ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
  .enabled(if: Command(installed: "gdalwarp") != nil, "gdalwarp is not installed"))
struct GDALMosaicTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func gdal(_ program: String, _ arguments: String...) throws {
    let result = try #require(try run(program, ["-q"] + arguments))
    try #require(result.status == 0, "\(program): \(result.output)")
  }

  /// All tiles of the only zoom of a bundle as one picture, and the picture's box in metres.
  private func picture(_ path: String) throws -> (PixelBuffer, BoundingBox) {
    var tiles: [TileID: PixelBuffer] = [:]
    try MBTilesReader(path: path).forEachTile { tiles[$0] = try ImageDecoder.decode($1) }
    let (columns, rows) = (tiles.keys.map(\.column), tiles.keys.map(\.row))
    let (left, top) = (columns.min()!, rows.min()!)
    let picture = PixelBuffer(width: (columns.max()! - left + 1) * 256, height: (rows.max()! - top + 1) * 256)
    var box: BoundingBox?
    for (tile, pixels) in tiles {
      picture.copy(pixels, x: (tile.column - left) * 256, y: (tile.row - top) * 256)
      let bounds = TileMatrixSet.webMercatorQuad.bounds(of: tile)
      box = box?.union(bounds) ?? bounds
    }
    return (picture, try #require(box))
  }

  private func warped(_ sources: [String], like picture: PixelBuffer, _ box: BoundingBox, _ options: [String])
    throws -> PixelBuffer
  {
    let (tif, png) = (folder.file("reference.tif"), folder.file("reference.png"))
    let corners = [box.west, box.south, box.east, box.north].map { "\($0)" }
    let arguments =
      ["-q", "-t_srs", "EPSG:3857", "-te"] + corners + ["-ts", "\(picture.width)", "\(picture.height)"]
      + ["-r", "bilinear", "-et", "0"] + options + sources + [tif]
    let result = try #require(try run("gdalwarp", arguments))
    try #require(result.status == 0, "\(result.output)")
    try gdal("gdal_translate", "-of", "PNG", tif, png)
    return try Data(contentsOf: URL(fileURLWithPath: png)).withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  /// Four quarters of a raster in four CRSs: as gdalwarp draws them, and without a gap on the seams.
  @Test(arguments: [true, false]) func fourQuartersInFourSystems(_ hasAlpha: Bool) throws {
    // Without its nodata value: white pixels would be holes, with soft edges in quarters with alpha.
    let path = folder.file("whole.tif")
    try gdal("gdal_translate", "-a_nodata", "none", TestData.url("maps/rasters/rmnp-rgb.tif").path, path)
    let whole = try RasterFile.open(path: path, options: RasterOpenOptions())
    let (x, y) = (whole.width / 2 + 7, whole.height / 2 - 5)
    let windows = [
      (0, 0, x, y), (x, 0, whole.width - x, y), (0, y, x, whole.height - y),
      (x, y, whole.width - x, whole.height - y),
    ]
    var quarters: [String] = []
    for (window, crs) in zip(windows, ["EPSG:32613", "EPSG:3857", "EPSG:5070", "EPSG:26954"]) {
      let (part, quarter) = (folder.file("part.tif"), folder.file("\(quarters.count).tif"))
      try gdal(
        "gdal_translate", "-srcwin", "\(window.0)", "\(window.1)", "\(window.2)", "\(window.3)", path, part)
      let transparency = hasAlpha ? ["-dstalpha"] : ["-dstnodata", "0"]
      let result = try run("gdalwarp", ["-q", "-r", "cubic", "-t_srs", crs] + transparency + [part, quarter])
      try #require(result?.status == 0, "\(result?.output ?? "")")
      quarters.append(quarter)
    }
    var options = CutOptions(sources: quarters)
    options.zoom = .levels(10...10)
    let output = folder.file("out.mbtiles")
    _ = try Cutter(options).cut(to: output)
    let (ours, box) = try picture(output)
    let difference = TileDifference(ours, try warped(quarters, like: ours, box, hasAlpha ? [] : ["-dstalpha"]))
    #expect(difference.maskShare <= 0.005 && difference.psnr >= 40, "\(difference)")

    options.sources = [path]
    _ = try Cutter(options).cut(to: output, replacing: true)
    let (complete, wholeBox) = try picture(output)
    #expect(wholeBox == box)
    // Away from the outer edge every pixel is there.
    var (holes, soft) = (0, 0)
    for row in 4..<(ours.height - 4) {
      for column in 4..<(ours.width - 4) {
        let isInside = [(-4, -4), (4, -4), (-4, 4), (4, 4)].allSatisfy {
          complete[column + $0.0, row + $0.1].w == 255
        }
        let alpha = ours[column, row].w
        if isInside, alpha < 128 { holes += 1 }
        if isInside, alpha < 255 { soft += 1 }
      }
    }
    // Black pixels of the raster are nodata in the quarters without alpha.
    #expect(holes <= (hasAlpha ? 0 : 60) && soft <= ours.width * ours.height / 1000, "\(holes) holes, \(soft) soft")
  }

  /// A real outline with 300 corners: the half covered pixels are the edge that gdalwarp draws.
  @Test func clippedRastersAreGDALs() throws {
    let path = TestData.url("maps/rasters/rmnp-rgb.tif").path
    var random = SeededGenerator(seed: 5)
    let ring = (0..<300).map { i -> String in
      let angle = 2 * Double.pi * Double(i) / 300
      let radius = Double.random(in: 0.18...0.24, using: &random)
      return "[\(-105.69 + radius * 1.3 * cos(angle)), \(40.34 + radius * sin(angle))]"
    }
    let hole = "[-105.8, 40.3], [-105.6, 40.3], [-105.7, 40.42], [-105.8, 40.3]"
    let outline = try folder.write(
      "area.geojson",
      "{\"type\": \"Polygon\", \"coordinates\": [[\((ring + [ring[0]]).joined(separator: ", "))], [\(hole)]]}")
    var options = CutOptions(sources: [path])
    options.zoom = .levels(10...10)
    options.clip = try ClipArea(file: outline)
    let output = folder.file("out.mbtiles")
    _ = try Cutter(options).cut(to: output)
    let (ours, box) = try picture(output)
    let theirs = try warped([path], like: ours, box, ["-dstalpha", "-cutline", outline])
    var soft = 0
    var wrong = 0
    for row in 0..<ours.height {
      for column in 0..<ours.width {
        let (p, q) = (ours[column, row], theirs[column, row])
        if p.w > 0, p.w < 255 { soft += 1 }
        // gdalwarp decides by source pixels: only what is clearly inside or outside is compared.
        if (p.w == 255 && q.w == 0) || (p.w == 0 && q.w == 255) { wrong += 1 }
        guard p.w == 255, q.w == 255 else { continue }
        if (0..<3).contains(where: { abs(Int(p[$0]) - Int(q[$0])) > 1 }) { wrong += 1 }
      }
    }
    #expect(soft > 1000)
    #expect(Double(wrong) <= 0.003 * Double(ours.width * ours.height), "\(wrong), soft \(soft)")
  }
}
