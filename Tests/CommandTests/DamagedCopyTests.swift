import Foundation
import TestSupport
import Testing
import TileImage

/// Good rasters, truncated or with random bits flipped.
@Suite(.ownThread) struct DamagedCopyTests {
  static let rasters =
    ["picture.png", "picture.jpg"]
    + (TestData.isPresent
      ? ["rgbsmall_LZW.tif", "rgbsmall_DEFLATE_tiled_separate.tif", "rgbsmall_JPEG_ycbcr.tif", "byte_point.tif"] : [])
  static let seeds: ClosedRange<UInt64> = 1...8

  @Test(arguments: rasters)
  func damagedRastersNeverCrashACut(_ raster: String) throws {
    let folder = try TemporaryFolder()
    let good = try bytes(of: raster, in: folder)
    for seed in Self.seeds {
      var random = SeededGenerator(seed: seed)
      var bytes = good
      let isCut = Bool.random(using: &random)
      if isCut {
        bytes = Array(good.prefix(Int.random(in: 1..<good.count, using: &random)))
      } else {
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
      }
      let name = "seed-\(seed)-\(raster)"
      let path = try folder.write(name, bytes: bytes)
      let before = folder.names
      // The TIFFs have a georeference of their own, unless it is damaged.
      let place = raster.hasSuffix(".tif") ? [] : ["--crs", "EPSG:4326", "--bounds", "-10,-10,10,10"]
      let run = try Command(built: "tilecut").run(
        ["cut", path, "-o", folder.file("out.mbtiles"), "--zoom", "0-2"] + place)
      #expect(
        run.seconds < MalformedInputTests.secondsMax && run.peakBytes < MalformedInputTests.peakBytesMax, "\(run)")
      if run.status == 0 {
        try expectValid(folder.file("out.mbtiles"))
        try FileManager.default.removeItem(atPath: folder.file("out.mbtiles"))
      } else {
        expectRefusal(run, status: 65, naming: name)
      }
      #expect(folder.names == before, "\(run)")
    }
  }

  private func bytes(of raster: String, in folder: TemporaryFolder) throws -> [UInt8] {
    switch raster {
    case "picture.png": return try Array(Data(contentsOf: URL(fileURLWithPath: folder.writePicture("good.png"))))
    case "picture.jpg":
      let png = try Data(contentsOf: URL(fileURLWithPath: folder.writePicture("good.png")))
      let pixels = try png.withUnsafeBytes { try ImageDecoder.decode($0) }
      return try TileEncoder(.jpeg(JPEGOptions(quality: 80))).encode(pixels)
    default: return try Array(Data(contentsOf: TestData.url("maps/rasters/\(raster)")))
    }
  }
}
