import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Compares our tiles with tiles that gdalwarp made from the same rasters with an exact transformer.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct ReferenceTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let folder: String
    let raster: String
    var testDescription: String { folder }
  }

  static let cases = [
    Case(folder: "RGB_byte_utm18n", raster: "RGB.byte.tif"),
    Case(folder: "alaska_albers_2964", raster: "alaska-shadedrelief-naturalearth.tif"),
    Case(folder: "colorado_mask_26913", raster: "cog_rgb_mask.tif"),
    Case(folder: "mexico_palette_laea", raster: "image_colormap.tif"),
    Case(folder: "naip_3857", raster: "usda_naip_512_deflate_z2.tif"),
    Case(folder: "nlcd_palette_utm12n", raster: "nlcd.tif"),
    Case(folder: "rmnp_rgb_4326", raster: "rmnp-rgb.tif"),
    Case(folder: "utm_nad27_26711", raster: "utm.tif"),
    Case(folder: "world_rgb", raster: "world.rgb.tif"),
  ]

  @Test(arguments: cases.prefix(3), Resampling.allCases)
  func tilesMatch(_ test: Case, _ resampling: Resampling) throws { try expectMatch(test, resampling) }

  @Test(.long, arguments: cases.dropFirst(3), Resampling.allCases)
  func tilesOfOtherRastersMatch(_ test: Case, _ resampling: Resampling) throws { try expectMatch(test, resampling) }

  private func expectMatch(_ test: Case, _ resampling: Resampling) throws {
    let kernel = resampling == .nearest ? "near" : resampling.rawValue
    let folder = TestData.url("maps/reference/\(test.folder)/\(kernel)")
    // Palette images have no smooth references; averages were made two zooms higher.
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return }
    let zoom = try #require(names.first.flatMap { Int($0.split(separator: "_")[0]) })
    var options = CutOptions(sources: [TestData.url("maps/rasters/\(test.raster)").path])
    options.resampling = resampling
    options.zoom = .levels(zoom...zoom)
    let scratch = try TemporaryFolder()
    let path = scratch.file("out.mbtiles")
    _ = try Cutter(options).cut(to: path)
    let bundle = try MBTilesReader(path: path)
    for name in names.sorted() {
      let n = name.split(whereSeparator: { "_.".contains($0) }).compactMap { Int($0) }
      let tile = try TileID(zoom: n[0], column: n[1], row: n[2])
      let bytes = try #require(try bundle.tile(tile), "\(tile) is missing")
      let ours = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      let data = try Data(contentsOf: folder.appendingPathComponent(name))
      let theirs = try data.withUnsafeBytes { try ImageDecoder.decode($0) }
      let difference = TileDifference(ours, theirs)
      #expect(difference.maskShare <= 0.005, "\(name): \(difference)")
      if resampling == .nearest {
        #expect(difference.equalShare >= 0.995, "\(name): \(difference)")
      } else {
        #expect(difference.psnr >= 40, "\(name): \(difference)")
      }
    }
  }

  /// The tiles of every zoom, from 0 to the source's own, are those with a valid pixel: none is missing, none is empty.
  @Test(arguments: cases.prefix(1))
  func tileSetIsExact(_ test: Case) throws { try expectExactTileSet(test) }

  @Test(.long, arguments: cases.dropFirst(1))
  func tileSetOfOtherRastersIsExact(_ test: Case) throws { try expectExactTileSet(test) }

  private func expectExactTileSet(_ test: Case) throws {
    let table = try String(contentsOf: TestData.url("maps/reference/\(test.folder)/tiles.csv"), encoding: .utf8)
    let expected = Set(
      try table.split(whereSeparator: \.isNewline).dropFirst().map { line in
        let n = line.split(separator: ",").compactMap { Int($0) }
        return try TileID(zoom: n[0], column: n[1], row: n[2])
      })
    for resampling in [Resampling.bilinear, .nearest] {
      var options = CutOptions(sources: [TestData.url("maps/rasters/\(test.raster)").path])
      options.resampling = resampling
      // Alaska's table ends one zoom above the raster's native one.
      options.zoom = .levels(0...expected.map(\.zoom).max()!)
      let scratch = try TemporaryFolder()
      let path = scratch.file("out.mbtiles")
      _ = try Cutter(options).cut(to: path)
      var found: Set<TileID> = []
      try MBTilesReader(path: path).forEachTile { tile, _ in found.insert(tile) }
      #expect(
        found == expected,
        "missing \(expected.subtracting(found).sorted()), extra \(found.subtracting(expected).sorted())")
    }
  }
}

/// The difference between two tiles.
struct TileDifference: CustomStringConvertible {
  /// The share of pixels that are visible in only one of them.
  let maskShare: Double
  /// The share of equal colours among the pixels visible in both.
  let equalShare: Double
  /// Of the colours of the pixels visible in both, in dB.
  let psnr: Double

  init(_ a: PixelBuffer, _ b: PixelBuffer) {
    var (mask, both, equal, squares) = (0, 0, 0, 0.0)
    for i in 0..<min(a.width * a.height, b.width * b.height) {
      let p = a.bytes.loadUnaligned(fromByteOffset: i * 4, as: SIMD4<UInt8>.self)
      let q = b.bytes.loadUnaligned(fromByteOffset: i * 4, as: SIMD4<UInt8>.self)
      guard p.w > 0, q.w > 0 else {
        if p.w > 0 || q.w > 0 { mask += 1 }
        continue
      }
      both += 1
      if p.x == q.x, p.y == q.y, p.z == q.z { equal += 1 }
      for c in 0..<3 {
        let d = Double(p[c]) - Double(q[c])
        squares += d * d
      }
    }
    maskShare = Double(mask) / Double(max(a.width * a.height, 1))
    equalShare = both > 0 ? Double(equal) / Double(both) : 1
    psnr = squares > 0 ? 10 * log10(255 * 255 * 3 * Double(both) / squares) : .infinity
  }

  var description: String {
    "masks differ on \(maskShare * 100) %, equal \(equalShare * 100) %, PSNR \(psnr) dB"
  }
}
