import Foundation
import TestSupport
import Testing
import TileIndex

/// Archives written by GDAL and by the PMTiles project.
@Suite(.ownThread, .enabled(if: TestData.isPresent, "\(TestData.skipMessage)")) struct ForeignPMTilesTests {
  func path(_ name: String) -> String { TestData.url("maps/tilesets/\(name)").path }

  struct Known: Sendable, CustomTestStringConvertible {
    let name: String
    let tile: (Int, Int, Int)
    /// The position of its bytes, determined with other tools.
    let bytes: Range<Int>
    let format: TileFormat
    var testDescription: String { "\(name) \(tile)" }
  }

  static let known = [
    Known(name: "byte_jpg.pmtiles", tile: (11, 354, 818), bytes: 269..<1184, format: .jpg),
    Known(name: "byte_webp.pmtiles", tile: (11, 354, 818), bytes: 273..<621, format: .webp),
    Known(name: "byte_png.pmtiles", tile: (9, 88, 204), bytes: 337..<776, format: .png),
    Known(name: "byte_png.pmtiles", tile: (10, 177, 409), bytes: 776..<1435, format: .png),
    Known(name: "byte_png.pmtiles", tile: (11, 354, 818), bytes: 1435..<2229, format: .png),
    Known(name: "small_world_jpg.pmtiles", tile: (0, 0, 0), bytes: 270..<9535, format: .jpg),
    Known(name: "test_fixture_1.pmtiles", tile: (0, 0, 0), bytes: 399..<468, format: .pbf),
  ]

  @Test(arguments: known) func tilesMatchTheBytesInTheFile(_ known: Known) throws {
    let reader = try PMTilesReader(path: path(known.name))
    let tile = TileID(unchecked: known.tile.0, known.tile.1, known.tile.2)
    let bytes = try #require(try reader.tile(tile))
    #expect(bytes == Array(try Data(contentsOf: URL(fileURLWithPath: reader.path))[known.bytes]))
    #expect(bytes.withUnsafeBytes { TileFormat(sniffing: $0) } == known.format)
    #expect(reader.metadata.format == known.format)
    #expect(try reader.zooms().contains(tile.zoom))
    #expect(try reader.range(zoom: tile.zoom)?.contains(tile) == true)
    #expect(try reader.range(zoom: tile.zoom)?.count == 1)
  }

  /// GDAL's MBTiles of the same raster have the same tiles.
  @Test func addressesAgreeWithMBTiles() throws {
    for (mbtiles, pmtiles) in [("byte.mbtiles", "byte_png.pmtiles"), ("byte_jpeg.mbtiles", "byte_jpg.pmtiles")] {
      let reader = try PMTilesReader(path: path(pmtiles))
      #expect(try MBTilesReader(path: path(mbtiles)).range(zoom: 11) == reader.range(zoom: 11))
      #expect(try reader.zooms().last == 11)
    }
  }

  @Test func metadataOfGDALAndTippecanoeAreRead() throws {
    let byte = try PMTilesReader(path: path("byte_png.pmtiles")).metadata
    #expect(byte.name == "byte_png" && byte.minZoom == 9 && byte.maxZoom == 11 && byte.type == .overlay)
    // The header has seven decimals, and the metadata the same with more.
    #expect(byte["bounds"] == "-117.64204279334717,33.891606393801105,-117.62899652869872,33.902435332035168")
    #expect(byte["center"] == "-117.6355196,33.8970208,9")
    // Its center is outside its bounds (in China).
    let jpg = try PMTilesReader(path: path("byte_jpg.pmtiles")).metadata
    #expect(jpg.bounds != nil && jpg.center == nil)
    let fixture = try PMTilesReader(path: path("test_fixture_1.pmtiles")).metadata
    #expect(fixture.json?.contains(#""vector_layers":[{"id":"test_fixture_1pmtiles""#) == true)
    #expect(fixture.json?.contains(#""tilestats":{"layerCount":1"#) == true)
    #expect(fixture["generator"] == "tippecanoe v2.5.0")
  }

  @Test func invalidArchivesAreRefused() throws {
    let invalid = #expect(throws: BundleError.self) { try PMTilesReader(path: path("invalid.pmtiles")) }
    #expect(invalid?.code == .malformed && invalid?.message == "is not a PMTiles archive")
    let four = #expect(throws: BundleError.self) { try PMTilesReader(path: path("invalid_v4.pmtiles")) }
    #expect(four?.message.contains("version 4") == true && four?.remedy?.contains("pmtiles convert") == true)
  }
}
