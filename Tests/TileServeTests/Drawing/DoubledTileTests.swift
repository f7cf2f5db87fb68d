import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct DoubledTileTests {
  private let wanted = tile(3, 2, 1)

  /// A source with the given children of `wanted` (0...3), and `wanted` itself.
  private func source(_ children: [Int], format: TileFormat = .png, zooms: ClosedRange<Int>? = nil) throws
    -> MemorySource
  {
    var tiles = [wanted: try Drawings.hills(seed: 99).encoded(format)]
    for index in children { tiles[wanted.children[index]] = try Drawings.islands(seed: UInt64(index)).encoded(format) }
    return MemorySource("relief", format: format, matrixSet: Grids.quad, zooms: zooms, tiles: tiles)
  }

  private func quarter(_ index: Int, of pixels: PixelBuffer) -> PixelBuffer {
    pixels.cut(x: index % 2 * 64, y: index / 2 * 64, width: 64, height: 64)
  }

  @Test func fourTilesOfTheNextZoomAreJoined() throws {
    let drawn = try #require(try TileResolver().answer(source([0, 1, 2, 3]), tile: wanted, scale: 2).tile)
    let pixels = try drawn.decoded()
    #expect(pixels.size == ImageSize(width: 128, height: 128))
    for index in 0..<4 {
      #expect(quarter(index, of: pixels).difference(from: Drawings.islands(seed: UInt64(index))) == nil)
    }
  }

  @Test func withoutTilesOfTheNextZoomThereIsNoDouble() throws {
    let resolver = TileResolver()
    #expect(try resolver.answer(source([]), tile: wanted, scale: 2) == .missing(.notFound))
    #expect(try resolver.answer(source([]), tile: wanted, policy: .noContent, scale: 2) == .missing(.noContent))
    let blank = try #require(try resolver.answer(source([]), tile: wanted, policy: .blank, scale: 2).tile)
    #expect(try blank.decoded().size == ImageSize(width: 128, height: 128))
  }

  /// Below the last zoom, at it, and where the next one has a hole: the nearest tile is enlarged.
  @Test func overzoomEnlargesTheNearestTile() throws {
    let resolver = TileResolver()
    let picture = Drawings.hills(seed: 99)
    for zooms in [nil, 3...5] as [ClosedRange<Int>?] {
      let source = try source([], zooms: zooms)
      for (tile, depth) in [(wanted, 0), (wanted.children[3], 1), (wanted.children[1].children[2], 2)] {
        let drawn = try #require(try resolver.answer(source, tile: tile, policy: .overzoom, scale: 2).tile)
        let expected = PixelBuffer(width: 128, height: 128)
        let count = 1 << depth
        Enlarge.draw(
          picture, column: Enlarge.Cell(index: tile.column - wanted.column * count, count: count),
          row: Enlarge.Cell(index: tile.row - wanted.row * count, count: count), into: expected)
        #expect(try drawn.decoded().difference(from: expected) == nil, "\(tile)")
      }
      #expect(try resolver.answer(source, tile: tile(3, 0, 0), policy: .overzoom, scale: 2) == .missing(.notFound))
      #expect(try resolver.answer(source, tile: wanted.children[3], scale: 2) == .missing(.notFound))
    }
    let deepest = Grids.quad.zooms.upperBound
    let last = MemorySource("relief", matrixSet: Grids.quad, tiles: [tile(deepest, 1, 1): try picture.encoded()])
    let drawn = try #require(try resolver.answer(last, tile: tile(deepest, 1, 1), policy: .overzoom, scale: 2).tile)
    #expect(try drawn.decoded().size == ImageSize(width: 128, height: 128))
  }

  @Test func missingQuarterIsTransparent() throws {
    let drawn = try #require(try TileResolver().answer(source([0, 3]), tile: wanted, scale: 2).tile)
    let pixels = try drawn.decoded()
    #expect(quarter(1, of: pixels).uniformColour == .transparent)
    #expect(quarter(2, of: pixels).uniformColour == .transparent)
    #expect(quarter(3, of: pixels).difference(from: Drawings.islands(seed: 3)) == nil)
  }

  @Test func missingQuarterOfJPEGIsWhite() throws {
    let drawn = try #require(try TileResolver().answer(source([0], format: .jpg), tile: wanted, scale: 2).tile)
    #expect(drawn.format == .jpg)
    #expect(quarter(3, of: try drawn.decoded()).difference(from: Drawings.uniform(.white), tolerance: 2) == nil)
  }

  @Test func overzoomEnlargesAMissingQuarter() throws {
    let drawn = try #require(
      try TileResolver().answer(source([0]), tile: wanted, policy: .overzoom, scale: 2).tile)
    let pixels = try drawn.decoded()
    let doubled = PixelBuffer(width: 128, height: 128)
    Enlarge.draw(Drawings.hills(seed: 99), into: doubled)
    #expect(quarter(0, of: pixels).difference(from: Drawings.islands(seed: 0)) == nil)
    for index in 1..<4 { #expect(quarter(index, of: pixels).difference(from: quarter(index, of: doubled)) == nil) }
  }

  @Test func highDensityTilesServeAsDoubles() throws {
    let bytes = try Drawings.hills(128, seed: 1).encoded()
    let source = MemorySource("dense", matrixSet: Grids.quad, tilePixels: 128, tiles: [wanted: bytes])
    #expect(try TileResolver().answer(source, tile: wanted, scale: 2) == .tile(Tile(bytes: bytes, format: .png)))
  }

  @Test func gridsWithOtherStepsHaveNoDoubles() throws {
    let source = MemorySource(
      "atlas", matrixSet: Grids.atlas, zooms: 0...5, tiles: [tile(1, 1, 1): try Drawings.hills(seed: 1).encoded()])
    #expect {
      try TileResolver().answer(source, tile: tile(1, 1, 1), scale: 2)
    } throws: {
      ($0 as? ServeError)?.code == .badRequest && "\($0)".contains("steps by 4")
    }
  }

  @Test func deepestZoomOfTheGridHasNoDoubles() throws {
    let deepest = Grids.quad.zooms.upperBound
    let source = MemorySource(
      "relief", matrixSet: Grids.quad, tiles: [tile(deepest, 1, 1): try Drawings.hills(seed: 1).encoded()])
    #expect(try TileResolver().answer(source, tile: tile(deepest, 1, 1), scale: 2) == .missing(.notFound))
  }

  @Test func vectorTilesHaveNoDoubles() throws {
    let source = MemorySource("roads", format: .pbf, tiles: [wanted: [0x1f, 0x8b]])
    #expect(throws: ServeError.self) { try TileResolver().answer(source, tile: wanted, scale: 2) }
  }

  @Test func otherScalesAreRefused() throws {
    #expect {
      try TileResolver().answer(source([]), tile: wanted, scale: 3)
    } throws: {
      ($0 as? ServeError)?.code == .badRequest && "\($0)".contains("@3x")
    }
  }
}
