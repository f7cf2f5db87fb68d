import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct OverzoomTests {
  @Test(arguments: [RGBA(red: 12, green: 200, blue: 77), RGBA(red: 250, green: 3, blue: 9, alpha: 90), .transparent])
  func aUniformAncestorGivesUniformTiles(_ colour: RGBA) throws {
    let source = MemorySource(
      "sea", matrixSet: Grids.quad, tiles: [tile(3, 2, 1): try Drawings.uniform(colour).encoded()])
    for wanted in [tile(4, 5, 2), tile(6, 20, 15), tile(14, 2 << 11 + 77, 1 << 11 + 900)] {
      let drawn = try #require(try TileResolver().answer(source, tile: wanted, policy: .overzoom).tile)
      #expect(try drawn.decoded().uniformColour == colour)
      #expect(try drawn.decoded().size == ImageSize(width: 64, height: 64))
    }
  }

  /// All tiles below an ancestor, joined, equal the enlarged ancestor: no seams, no shift.
  @Test(arguments: [
    (Grids.quad, 2, 1), (Grids.quad, 2, 3), (Grids.atlas, 1, 1), (Grids.atlas, 4, 1), (Grids.atlas, 3, 2),
  ])
  func joinedTilesEqualTheEnlargedAncestor(_ grid: TileMatrixSet, zoom: Int, depth: Int) throws {
    let ancestor = Drawings.islands(seed: 3)
    let resolver = TileResolver()
    let top = tile(zoom, 3, 2)
    let source = MemorySource("relief", matrixSet: grid, tiles: [top: try ancestor.encoded()])
    var range = TileRange(zoom: zoom, columns: 3...3, rows: 2...2)
    for _ in 0..<depth { range = try #require(grid.children(of: range)) }
    let edge = 64 * range.columns.count
    let joined = PixelBuffer(width: edge, height: edge)
    for wanted in range {
      let drawn = try #require(try resolver.answer(source, tile: wanted, policy: .overzoom).tile)
      #expect(drawn.format == .png)
      joined.copy(
        try drawn.decoded(), x: (wanted.column - range.columns.lowerBound) * 64,
        y: (wanted.row - range.rows.lowerBound) * 64)
    }
    let expected = PixelBuffer(width: edge, height: edge)
    Enlarge.draw(ancestor, into: expected)
    #expect(joined.difference(from: expected) == nil)
  }

  /// No shift: the averaged tiles approximate their ancestor. A shift by half a pixel would be a distance of 5.
  @Test func averagedTilesApproximateTheAncestor() throws {
    let ancestor = Drawings.hills(seed: 3)
    let top = tile(2, 1, 1)
    let source = MemorySource("relief", matrixSet: Grids.quad, tiles: [top: try ancestor.encoded()])
    let reduced = PixelBuffer(width: 64, height: 64)
    for (index, child) in top.children.enumerated() {
      let drawn = try #require(try TileResolver().answer(source, tile: child, policy: .overzoom).tile)
      Reduce.average(try drawn.decoded(), ratio: 2, into: reduced, x: index % 2 * 32, y: index / 2 * 32)
    }
    #expect(meanDistance(reduced, ancestor) < 2.5)
  }

  @Test func nearestAncestorIsUsed() throws {
    let (far, near) = (RGBA(red: 255, green: 0, blue: 0), RGBA(red: 0, green: 0, blue: 255))
    let source = MemorySource(
      "sea", matrixSet: Grids.quad,
      tiles: [tile(1, 0, 0): try Drawings.uniform(far).encoded(), tile(3, 1, 1): try Drawings.uniform(near).encoded()])
    func colour(_ wanted: TileID) throws -> RGBA? {
      try TileResolver().answer(source, tile: wanted, policy: .overzoom).tile?.decoded().uniformColour
    }
    #expect(try colour(tile(5, 6, 5)) == near)
    #expect(try colour(tile(5, 11, 9)) == far)
    #expect(try colour(tile(2, 1, 1)) == far)
    #expect(try colour(tile(2, 3, 1)) == nil)
  }

  @Test func storedTileIsUnchanged() throws {
    let bytes = try Drawings.hills(seed: 1).encoded()
    let source = MemorySource("sea", matrixSet: Grids.quad, tiles: [tile(3, 2, 1): bytes])
    let answer = try TileResolver().answer(source, tile: tile(3, 2, 1), policy: .overzoom)
    #expect(answer == .tile(Tile(bytes: bytes, format: .png)))
  }

  @Test func ancestorOfAnotherSizeGivesTheSameTile() throws {
    let large = Drawings.hills(128, seed: 5)
    let source = MemorySource("sea", matrixSet: Grids.quad, tiles: [tile(2, 1, 1): try large.encoded()])
    let drawn = try #require(try TileResolver().answer(source, tile: tile(3, 3, 2), policy: .overzoom).tile)
    // Twice the pixels for half the width: a plain cut.
    #expect(try drawn.decoded().difference(from: large.cut(x: 64, y: 0, width: 64, height: 64)) == nil)
  }

  @Test func highDensityTilesKeepTheirDensity() throws {
    let source = MemorySource(
      "sea", matrixSet: Grids.quad, tilePixels: 128, tiles: [tile(2, 1, 1): try Drawings.hills(128, seed: 5).encoded()])
    let drawn = try #require(try TileResolver().answer(source, tile: tile(3, 3, 2), policy: .overzoom).tile)
    #expect(try drawn.decoded().size == ImageSize(width: 128, height: 128))
  }

  @Test func tilesTooFarBelowTheirAncestorAreMissing() throws {
    let source = MemorySource("sea", tiles: [tile(2, 1, 1): try Drawings.hills(seed: 5).encoded()])
    let resolver = TileResolver()
    #expect(try resolver.answer(source, tile: tile(14, 1 << 12, 1 << 12), policy: .overzoom).tile != nil)
    #expect(try resolver.answer(source, tile: tile(15, 1 << 13, 1 << 13), policy: .overzoom) == .missing(.notFound))
  }

  @Test func jpegAncestorGivesJPEGTiles() throws {
    let source = MemorySource(
      "photo", format: .jpg, matrixSet: Grids.quad,
      tiles: [tile(2, 1, 1): try Drawings.hills(seed: 5).encoded(.jpg)])
    let drawn = try #require(try TileResolver().answer(source, tile: tile(3, 3, 2), policy: .overzoom).tile)
    #expect(drawn.format == .jpg)
    let expected = PixelBuffer(width: 64, height: 64)
    Enlarge.draw(
      Drawings.hills(seed: 5), column: Enlarge.Cell(index: 1, count: 2), row: Enlarge.Cell(index: 0, count: 2),
      into: expected)
    #expect(meanDistance(try drawn.decoded(), expected) < 12)
  }

  @Test func vectorTilesAreNotEnlarged() throws {
    let source = MemorySource("roads", format: .pbf, tiles: [tile(2, 1, 1): [0x1f, 0x8b, 8]])
    #expect(try TileResolver().answer(source, tile: tile(3, 3, 2), policy: .overzoom) == .missing(.noContent))
  }

  private func meanDistance(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    var sum = 0
    for y in 0..<a.height {
      for x in 0..<a.width {
        sum += abs(Int(a[x, y].green) - Int(b[x, y].green)) + abs(Int(a[x, y].red) - Int(b[x, y].red))
      }
    }
    return Double(sum) / Double(2 * a.width * a.height)
  }
}
