import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Tiles of 512 pixels and tiles for dense screens.
@Suite(.ownThread) struct TileSizeTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A raster whose pixels are those of zoom 4 of tiles of 256 pixels: 512 x 512 of them, in the quarter of the world
  /// north of the equator and east of Greenwich.
  private func raster() throws -> String {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height, fixture.samples, fixture.photometric) = (512, 512, 3, 2)
    let cell = TileMatrixSet.webMercatorQuad[4].cellSize
    fixture.tags = [
      33550: .double([cell, cell, 0]), 33922: .double([0, 0, 0, 0, cell * 512, 0]),
      34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857]),
    ]
    fixture.sample = { x, y, band in Double((band == 0 ? x : band == 1 ? y : x ^ y) & 255) }
    return try fixture.write(folder, "map.tif")
  }

  private func cut(_ name: String, _ change: (inout CutOptions) -> Void) throws -> any BundleReader {
    var options = CutOptions(sources: [try raster()])
    change(&options)
    _ = try Cutter(options).cut(to: folder.file(name))
    return try BundleFile.open(folder.file(name))
  }

  private func pixels(_ bundle: any BundleReader, _ tile: TileID) throws -> PixelBuffer {
    let bytes = try #require(try bundle.tile(tile), "\(tile)")
    return try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  struct Size: Sendable {
    var tile: Int?
    var factor = 1
  }

  /// A tile of 512 pixels is the four tiles of the next zoom, so the deepest zoom is one less.
  @Test(
    arguments: zip(
      [Size(tile: 512), Size(factor: 2), Size(tile: 256, factor: 2)], ["a.mbtiles", "a.pmtiles", "a/"]))
  func largeTilesAreFourSmallOnes(_ size: Size, _ name: String) throws {
    let small = try cut("small.mbtiles") { _ in }
    let large = try cut(name) { ($0.tileSize, $0.scaleFactor) = (size.tile, size.factor) }
    #expect(try small.zooms() == [0, 1, 2, 3, 4] && large.zooms() == [0, 1, 2, 3])
    for zoom in 0...3 {
      let range = try #require(try large.range(zoom: zoom))
      #expect(try small.range(zoom: zoom) == range)
      for tile in range {
        let whole = try pixels(large, tile)
        #expect(whole.width == 512 && whole.height == 512)
        let joined = PixelBuffer(width: 512, height: 512)
        for child in tile.children {
          guard let bytes = try small.tile(child) else { continue }
          let part = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
          joined.copy(part, x: child.column % 2 * 256, y: child.row % 2 * 256)
        }
        #expect(whole.distance(to: joined) == 0, "\(tile)")
      }
    }
    #expect(large.metadata["tileSize"] == (size.tile == 512 ? "512" : "256"))
    #expect(large.metadata["scale"] == (size.factor == 2 ? "2" : nil))
    #expect(large.metadata.bounds == small.metadata.bounds && large.matrixSet == .webMercatorQuad)
    #expect(try findings(folder.file(name)) == [])
  }

  @Test func otherGridsHaveLargeTilesToo() throws {
    let degrees = try TileMatrixSet(identifier: "D", uri: "urn:d", tileEdges: [90, 45, 22.5], tileSizes: [288])
    let bundle = try cut("d.mbtiles") { ($0.matrixSet, $0.scaleFactor) = (degrees, 2) }
    #expect(bundle.matrixSet == degrees && bundle.metadata["tileSize"] == "288" && bundle.metadata["scale"] == "2")
    #expect(try pixels(bundle, TileID(zoom: 0, column: 2, row: 0, in: degrees)).width == 576)
    let geographic = try cut("g.mbtiles") { ($0.matrixSet, $0.tileSize) = (.worldCRS84Quad, 512) }
    #expect(try pixels(geographic, TileID(zoom: 0, column: 1, row: 0, in: .worldCRS84Quad)).width == 512)
    #expect(throws: CutError.self) { try cut("e.mbtiles") { ($0.matrixSet, $0.tileSize) = (degrees, 512) } }
    #expect(throws: CutError.self) { try cut("f.mbtiles") { $0.tileSize = 300 } }
  }

  /// Rasters are appended in tiles as large as the bundle's; previews show it like any other.
  @Test func appendAndPreviewHonourTheSize() throws {
    let bundle = try cut("a.mbtiles") { $0.scaleFactor = 2 }
    let before = try pixels(bundle, TileID(zoom: 2, column: 2, row: 1))
    let append = try BundleAppend(to: folder.file("a.mbtiles"), options: CutOptions(sources: [try raster()]))
    _ = try append.write(to: folder.file("b.mbtiles"))
    let after = try BundleFile.open(folder.file("b.mbtiles"))
    #expect(try pixels(after, TileID(zoom: 2, column: 2, row: 1)).distance(to: before) == 0)
    #expect(after.metadata["tileSize"] == "256" && after.metadata["scale"] == "2")
    let small = try cut("small.mbtiles") { _ in }
    let view = BundlePreview(bounds: BoundingBox(west: 1, south: 1, east: 40, north: 40))
    #expect(try view.pixels(of: bundle).distance(to: view.pixels(of: small)) <= 2)
  }

  @Test func bundlesOfDifferentSizesDoNotMerge() throws {
    let (small, large) = (try cut("small.mbtiles") { _ in }, try cut("large.mbtiles") { $0.tileSize = 512 })
    let error = #expect(throws: BundleError.self) {
      try BundleMerge(conflict: .first).write([small, large], to: folder.file("out.mbtiles"))
    }
    #expect(error?.message.contains("tile size") == true, "\(String(describing: error))")
    let extract = BundleExtract(zooms: 1...2)
    _ = try extract.write(large, to: folder.file("part.pmtiles"))
    #expect(try BundleFile.open(folder.file("part.pmtiles")).metadata["tileSize"] == "512")
  }

  /// The size that the metadata give is checked.
  @Test func verifyComparesTheStatedSize() throws {
    _ = try cut("a.mbtiles") { $0.tileSize = 512 }
    try MetadataEdit(name: "tileSize", value: "256").apply(to: folder.file("a.mbtiles"))
    let found = try findings(folder.file("a.mbtiles"))
    #expect(found.contains { $0.rule == "decode" && $0.message.contains("256") }, "\(found)")
  }

  /// A flat image's pixels are those of the deepest zoom.
  @Test func flatImagesKeepTheirPixels() throws {
    let picture = PixelBuffer(width: 700, height: 300)
    for y in 0..<300 { for x in 0..<700 { picture[x, y] = SIMD4(UInt8(x & 255), UInt8(y & 255), 7, 255) } }
    let path = try folder.write("scan.png", bytes: TileEncoder(.png(PNGOptions())).encode(picture))
    var options = CutOptions(sources: [path])
    (options.isFlat, options.tileSize) = (true, 512)
    _ = try Cutter(options).cut(to: folder.file("flat.mbtiles"))
    let bundle = try BundleFile.open(folder.file("flat.mbtiles"))
    #expect(try bundle.zooms() == [0, 1])
    let right = try pixels(bundle, TileID(zoom: 1, column: 1, row: 0))
    #expect(right[0, 0] == picture[512, 0] && right[187, 299] == picture[699, 299] && right[188, 0] == .zero)
  }
}

/// What `verify` finds in a bundle.
func findings(_ path: String) throws -> [VerificationFinding] {
  try BundleVerifier(path: path, decode: ImageDecoder.check).verify().outcomes.flatMap(\.findings)
}
