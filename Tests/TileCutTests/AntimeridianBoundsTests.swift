import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Bounds over the antimeridian are one area in all their spellings.
@Suite(.ownThread) struct AntimeridianBoundsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [(175.0, 185.0), (-185.0, -175.0), (535.0, -175.0)])
  func everySpellingCutsTheSame(west: Double, east: Double) throws {
    let pixels = PixelBuffer(width: 200, height: 100)
    for i in 0..<20_000 { pixels.bytes.storeBytes(of: 0xff5a_5a5a, toByteOffset: i * 4, as: UInt32.self) }
    // From 170 to 190 degrees.
    try folder.write("a.pgw", "0.1\n0\n0\n-0.1\n170.05\n-10.05\n")
    try folder.write("a.prj", "EPSG:4326")
    let source = try folder.write("a.png", bytes: TileEncoder(.png(PNGOptions())).encode(pixels))
    func cut(_ west: Double, _ east: Double) throws -> [TileID: [UInt8]] {
      var options = CutOptions(sources: [source])
      options.matrixSet = CheckpointTests.smallTiles
      options.zoom = .levels(5...6)
      options.bounds = BoundingBox(west: west, south: -18, east: east, north: -12)
      return try folder.tiles(of: options, threads: 2)
    }
    let expected = try cut(175, -175)
    #expect(expected.keys.contains { $0.column == 0 })
    #expect(try cut(west, east) == expected)
  }
}
