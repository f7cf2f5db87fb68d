import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex
import TilePrefetch

/// A source of images of 64 pixels: even columns have few colours, odd ones many.
private final class Origin: Sendable {
  private let counts = Mutex<[TileID: Int]>([:])
  func count(_ tile: TileID) -> Int { counts.withLock { $0[tile] ?? 0 } }

  static func pixels(_ tile: TileID) -> PixelBuffer {
    let pixels = PixelBuffer(width: 64, height: 64)
    for place in 0..<(64 * 64) {
      let red = UInt32(tile.column % 2 == 0 ? place % 7 : place % 256)
      let green = UInt32(tile.column % 2 == 0 ? tile.row : place / 256)
      pixels.bytes.storeBytes(of: 0xff00_0000 | green << 8 | red, toByteOffset: place * 4, as: UInt32.self)
    }
    return pixels
  }

  func bytes(_ tile: TileID) throws -> [UInt8]? {
    counts.withLock { $0[tile, default: 0] += 1 }
    return tile.row < 9 ? try TileEncoder(.png(PNGOptions())).encode(Self.pixels(tile)) : nil
  }
}

private func tile(_ column: Int, _ row: Int = 0) -> TileID { TileID(unchecked: 8, column, row) }

private func isEqual(_ picture: TilePicture?, _ tile: TileID) -> Bool {
  guard let pixels = picture?.pixels else { return false }
  let expected = Origin.pixels(tile)
  let count = expected.byteCount
  return pixels.byteCount == count
    && UnsafeRawBufferPointer(start: pixels.bytes, count: count)
      .elementsEqual(UnsafeRawBufferPointer(start: expected.bytes, count: count))
}

@Suite(.ownThread) struct TieredTilesTests {
  private let origin = Origin()

  private func tiles(decoded: Int, encoded: Int) -> TieredTiles<TilePicture> {
    TieredTiles(decodedBytes: decoded, encodedBytes: encoded) { bytes in
      let picture = TilePicture(try bytes.withUnsafeBytes { try ImageDecoder.decode($0) })
      return (picture, byteCount: picture.byteCount)
    } source: { [origin] in
      try origin.bytes($0)
    }
  }

  @Test func tilesWithFewColoursAreKeptAsPalettes() throws {
    let tiles = tiles(decoded: 1 << 20, encoded: 1 << 20)
    for column in 0..<2 {
      #expect(isEqual(try tiles.picture(tile(column)), tile(column)))
      #expect(isEqual(try tiles.picture(tile(column)), tile(column)), "from the first tier")
      #expect(origin.count(tile(column)) == 1)
    }
    guard case .palette = try tiles.picture(tile(0)) else { return #expect(Bool(false)) }
    guard case .pixels = try tiles.picture(tile(1)) else { return #expect(Bool(false)) }
    #expect(tiles.decoded.statistics.bytes == 64 * 64 + 7 * 4 + 64 * 64 * 4)
  }

  /// Evicted decoded tiles come from the encoded tier; tiles missing there too come from the source.
  @Test func evictedDecodedTilesComeFromTheEncodedTier() throws {
    let tiles = tiles(decoded: 1 << 20, encoded: 1 << 20)
    for column in 0..<6 { _ = try tiles.picture(tile(column)) }
    tiles.decoded.removeAll()
    for column in 0..<6 {
      #expect(isEqual(try tiles.picture(tile(column)), tile(column)))
      #expect(origin.count(tile(column)) == 1)
    }
    tiles.remove(tile(3))
    #expect(isEqual(try tiles.picture(tile(3)), tile(3)))
    #expect(origin.count(tile(3)) == 2)
  }

  @Test func eachTierHasItsBudget() throws {
    // Room for one tile as pixels, and none encoded.
    let tiles = tiles(decoded: 20 << 10, encoded: 0)
    for column in [1, 3, 1] { #expect(isEqual(try tiles.picture(tile(column)), tile(column))) }
    #expect(origin.count(tile(1)) == 2 && tiles.encoded.statistics.bytes == 0)
    #expect(tiles.decoded.statistics.bytesPeak <= 20 << 10)
  }

  @Test func absentTilesAreRequestedOnce() throws {
    let tiles = tiles(decoded: 1 << 20, encoded: 1 << 20)
    for _ in 0..<3 { #expect(try tiles.picture(tile(0, 9)) == nil) }
    #expect(origin.count(tile(0, 9)) == 1)
  }

  @Test func mapLoaderLoadsThroughBothTiers() throws {
    let tiles = tiles(decoded: 8 << 20, encoded: 1 << 20)
    let loader = MapLoader(
      cache: tiles.decoded, planner: PrefetchPredictor(), source: .init(loadsMax: 1),
      tileCost: TieredTiles<TilePicture>.decodedCostMax)
    loader.update(Viewport(x: 4.5 / 256, y: 4.5 / 256, zoom: 8, width: 500, height: 500), phase: .rest, at: 0)
    while let load = loader.next() { loader.finish(load, tiles.load(load.key)) }
    #expect(isEqual(loader.tile(tile(4, 4)), tile(4, 4)) && isEqual(loader.tile(tile(5, 5)), tile(5, 5)))
  }
}
