import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

@Suite(.ownThread) struct BundlePreviewTests {
  /// Zooms that differ by factors of 4 and 3, tiles of 96 pixels.
  private static let grid = try! TileMatrixSet(
    identifier: "Degrees", uri: "urn:test:degrees", tileEdges: [8, 2, 2.0 / 3], tileSizes: [96])

  /// Nine fields with one colour each.
  private static func field(_ column: Int, _ row: Int) -> UInt32 {
    0xff00_0000 | UInt32(column * 100 + 30) | UInt32(row * 100 + 40) << 8
  }

  private static func nineFields() -> PixelBuffer {
    let pixels = PixelBuffer(width: 96, height: 96)
    for y in 0..<96 {
      for x in 0..<96 {
        pixels.bytes.storeBytes(of: field(x / 32, y / 32), toByteOffset: (y * 96 + x) * 4, as: UInt32.self)
      }
    }
    return pixels
  }

  /// The part of a coarse tile that covers a missing fine one is drawn, whether the fine zoom has other tiles or none.
  @Test(arguments: [false, true], [0, 1, 2]) func missingTilesAreDrawnFromCoarserOnes(_ hasFineTiles: Bool, _ step: Int)
    throws
  {
    let folder = try TemporaryFolder()
    let writer = try BundleWriter(path: folder.file("a.mbtiles"), matrixSet: Self.grid, format: .png)
    let encoder = TileEncoder(.png(PNGOptions()))
    try writer.put(TileID(zoom: 1, column: 91, row: 45, in: Self.grid), encoder.encode(Self.nineFields()))
    if hasFineTiles {
      try writer.put(TileID(zoom: 2, column: 0, row: 0, in: Self.grid), encoder.encode(Self.nineFields()))
    }
    _ = try writer.finish(BundleMetadata(name: "A"))
    let bundle = try MBTilesReader(path: folder.file("a.mbtiles"), matrixSet: Self.grid)
    let row = 2 - step
    let fine = try TileID(zoom: 2, column: 273 + step, row: 135 + row, in: Self.grid)
    let pixels = try BundlePreview(bounds: Self.grid.geographicBounds(of: fine), zoom: 2).pixels(of: bundle)
    #expect(pixels.width == 96 && pixels.height == 96)
    for place in [20, 48, 70] {
      let found = pixels.bytes.load(fromByteOffset: place * pixels.rowBytes + place * 4, as: UInt32.self)
      #expect(found == Self.field(step, row), "at \(place)")
    }
    // Transparent where no zoom has a tile.
    let elsewhere = try BundlePreview(
      bounds: BoundingBox(west: 100, south: 10, east: 101, north: 11), size: .init(width: 20, height: 20)
    ).pixels(of: bundle)
    #expect(elsewhere.opacity == .transparent)
  }

  /// Beside the data, where tiles were left out because they would be empty, nothing of its colour is drawn.
  @Test(arguments: [TileFormat.png, .jpg]) func groundWithoutDataStaysEmpty(_ format: TileFormat) throws {
    let folder = try TemporaryFolder()
    let set = TileMatrixSet.webMercatorQuad
    let writer = try BundleWriter(path: folder.file("a.mbtiles"), matrixSet: set, format: format)
    let encoder = TileEncoder(format == .png ? .png(PNGOptions()) : .jpeg(JPEGOptions(quality: 85)))
    // One red tile of zoom 6, and the tiles above it, whose other parts have no data.
    let data = TileID(unchecked: 6, 21, 27)
    for zoom in 0...6 {
      let tile = set.ancestor(of: data, zoom: zoom)
      let pixels = PixelBuffer(width: 256, height: 256)
      pixels.fill(RGBA(red: 255, green: 255, blue: 255, alpha: format == .png ? 0 : 255))
      let edge = 256 >> (6 - zoom)
      let red = PixelBuffer(width: edge, height: edge)
      red.fill(RGBA(red: 200, green: 0, blue: 0))
      let (left, top) = ((data.column << 8) >> (6 - zoom), (data.row << 8) >> (6 - zoom))
      pixels.copy(red, x: left - tile.column * 256, y: top - tile.row * 256)
      try writer.put(tile, encoder.encode(pixels))
    }
    _ = try writer.finish(BundleMetadata(name: "A"))
    let box = set.geographicBounds(of: TileID(unchecked: 4, 5, 6))
    let pixels = try BundlePreview(bounds: box, zoom: 6).pixels(of: MBTilesReader(path: folder.file("a.mbtiles")))
    // Tiles 20 to 23 and 24 to 27: the data are in column 1 and row 3.
    for y in 0..<1024 {
      for x in 0..<1024 {
        let pixel = pixels.bytes.load(fromByteOffset: y * pixels.rowBytes + x * 4, as: UInt32.self)
        let hasData = x / 256 == 1 && y / 256 == 3
        guard (pixel >> 24 == 0) == hasData else { continue }
        Issue.record("\(String(pixel, radix: 16)) at \(x), \(y)")
        return
      }
    }
  }

  /// A uniform picture stays uniform at any scale.
  @Test(arguments: [(0.3, 0.0), (1.7, 0.5), (2.0, 0.0), (3.9, 0.25)]) func scalesKeepUniformPictures(
    _ step: Double, _ start: Double
  ) {
    let source = PixelBuffer(width: 100, height: 100)
    source.fill(RGBA(red: 17, green: 200, blue: 91, alpha: 128))
    let target = PixelBuffer(width: 20, height: 20)
    PictureScaler.draw(source, from: SIMD2(start, start), step: step, into: target)
    #expect(target.uniformColour == RGBA(red: 17, green: 200, blue: 91, alpha: 128))
  }

  @Test func reducedPixelsAreTheMean() {
    let source = PixelBuffer(width: 2, height: 2)
    for (index, grey) in [0, 100, 200, 60].enumerated() {
      source.bytes.storeBytes(of: 0xff00_0000 | UInt32(grey), toByteOffset: index * 4, as: UInt32.self)
    }
    let target = PixelBuffer(width: 1, height: 1)
    PictureScaler.draw(source, from: SIMD2(0, 0), step: 2, into: target)
    #expect(target.uniformColour == RGBA(red: 90, green: 0, blue: 0, alpha: 255))
  }

  /// The first tile decides how many pixels each has, and its header may claim any number.
  @Test func headersOfGiantTilesAreRefused() throws {
    let folder = try TemporaryFolder()
    let path = try folder.writeBundle("a.mbtiles", zooms: 1...1)
    func claim(_ width: UInt32, _ height: UInt32) throws {
      let connection = try SQLiteConnection(creating: path)
      let size = [width, height].map { String(format: "%08x", $0) }.joined()
      try connection.execute(
        """
        UPDATE images SET tile_data = x'89504e470d0a1a0a0000000d49484452\(size)0806000000' WHERE tile_id = \
        (SELECT tile_id FROM map WHERE zoom_level = 1 AND tile_column = 0 AND tile_row = 1)
        """)
      try connection.close()
    }
    for (width, height) in [(100_000, 1), (30_000, 30_000), (1, 4_000_000_000)] as [(UInt32, UInt32)] {
      try claim(width, height)
      let preview = BundlePreview(
        bounds: BoundingBox(west: 10, south: -50, east: 60, north: -10), zoom: 1, size: .init(width: 64, height: 64))
      let error = #expect(throws: BundleError.self) { try preview.pixels(of: BundleFile.open(path)) }
      #expect(error?.code == .malformed && error?.path == path, "\(error?.description ?? "")")
    }
  }
}
