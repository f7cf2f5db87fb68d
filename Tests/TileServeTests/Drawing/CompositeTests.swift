import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct CompositeTests {
  private let wanted = tile(3, 2, 1)

  private func source(
    _ id: String, _ pixels: PixelBuffer, format: TileFormat = .png, at place: TileID? = nil, tilePixels: Int = 64
  ) throws -> MemorySource {
    MemorySource(
      id, format: format, matrixSet: Grids.quad, tilePixels: tilePixels,
      tiles: [place ?? wanted: try pixels.encoded(format)])
  }

  @Test(arguments: 0..<6)
  func layersLieOverEachOther(_ seed: UInt64) throws {
    let pictures = [
      Drawings.hills(seed: seed), Drawings.islands(seed: seed + 1), Drawings.islands(seed: seed + 2),
    ]
    let answer = try TileResolver().answer(
      source("a", pictures[0]), source("b", pictures[1]), source("c", pictures[2]), tile: wanted)
    let expected = Drawings.hills(seed: seed)
    Overlay.draw(pictures[1], over: expected)
    Overlay.draw(pictures[2], over: expected)
    let drawn = try #require(answer.tile)
    #expect(drawn.format == .png)
    #expect(try drawn.decoded().difference(from: expected) == nil)
  }

  @Test func singleTileIsServedAsStored() throws {
    let bytes = try Drawings.islands(seed: 1).encoded()
    let (with, without) = (
      try source("a", Drawings.islands(seed: 1)), try source("b", Drawings.hills(seed: 2), at: tile(3, 0, 0))
    )
    let resolver = TileResolver()
    #expect(try resolver.answer(with, without, tile: wanted) == .tile(Tile(bytes: bytes, format: .png)))
    #expect(try resolver.answer(without, with, tile: wanted, format: .png) == .tile(Tile(bytes: bytes, format: .png)))
  }

  @Test func layersBelowAnOpaqueTileAreNotRead() throws {
    let below = try source("a", Drawings.hills(seed: 1))
    let photo = try source("b", Drawings.hills(seed: 2), format: .jpg)
    let answer = try TileResolver().answer(below, photo, tile: wanted)
    #expect(answer == .tile(Tile(bytes: try Drawings.hills(seed: 2).encoded(.jpg), format: .jpg)))
    #expect(below.readTiles.isEmpty)
  }

  /// Beyond a map's bounds tiles without transparency are white, which would hide a neighbour's ground.
  @Test(
    arguments: [TileFormat.jpg, .png, .webp].flatMap { format in
      [1, 2].flatMap { scale in [true, false].map { (format, scale, $0) } }
    })
  func neighboursOfOpaqueTilesShowTheirOwnGround(_ format: TileFormat, scale: Int, westFirst: Bool) throws {
    func encoded(_ pixels: PixelBuffer) throws -> [UInt8] {
      format == .webp ? try TileEncoder(.webp(WebPOptions(lossless: false))).encode(pixels) : try pixels.encoded(format)
    }
    let (zoom, column, row) = (wanted.zoom, wanted.column, wanted.row)
    let box = Grids.quad.bounds(of: wanted)
    let middle = (box.west + box.east) / 2
    let (green, blue) = (RGBA(red: 60, green: 90, blue: 60), RGBA(red: 60, green: 60, blue: 90))
    func source(_ id: String, _ colour: RGBA, isWest: Bool) throws -> MemorySource {
      let white = RGBA(red: 255, green: 255, blue: 255)
      let half = Drawings.uniform(white)
      for y in 0..<64 { for x in 0..<32 { half[isWest ? x : x + 32, y] = colour } }
      var tiles = [wanted: try encoded(half)]
      if scale == 2 {
        for child in 0..<4 {
          let isOwn = (child % 2 == 0) == isWest
          tiles[tile(zoom + 1, column * 2 + child % 2, row * 2 + child / 2)] =
            try encoded(Drawings.uniform(isOwn ? colour : white))
        }
      }
      return MemorySource(
        id, format: format, matrixSet: Grids.quad, tiles: tiles,
        bounds: BoundingBox(
          west: isWest ? box.west : middle, south: box.south, east: isWest ? middle : box.east, north: box.north))
    }
    let (west, east) = (try source("w", green, isWest: true), try source("e", blue, isWest: false))
    let answer = try TileResolver().answer(
      westFirst ? west : east, westFirst ? east : west, tile: wanted, scale: scale, format: .png)
    let pixels = try #require(try answer.tile?.decoded())
    for y in stride(from: 0, to: pixels.height, by: 5) {
      for x in 0..<pixels.width where abs(x - pixels.width / 2) > 1 {
        let (found, own) = (pixels[x, y], x < pixels.width / 2 ? green : blue)
        #expect(abs(Int(found.green) - Int(own.green)) < 9 && abs(Int(found.blue) - Int(own.blue)) < 9, "\(x), \(y)")
      }
    }
  }

  /// A PNG with an alpha channel may be opaque; only decoding can tell.
  @Test func opaqueTileWithAlphaChannelIsServedAsStored() throws {
    let pixels = Drawings.hills(seed: 4)
    let bytes = try TileEncoder(.webp(WebPOptions())).encode(pixels)
    let top = MemorySource("b", format: .webp, matrixSet: Grids.quad, tiles: [wanted: bytes])
    let answer = try TileResolver().answer(source("a", Drawings.hills(seed: 1)), top, tile: wanted, format: .webp)
    #expect(answer == .tile(Tile(bytes: bytes, format: .webp)))
  }

  @Test func smallerLayersAreEnlarged() throws {
    let (small, large) = (Drawings.hills(64, seed: 1), Drawings.islands(128, seed: 2))
    let answer = try TileResolver().answer(
      source("a", small), source("b", large, tilePixels: 128), tile: wanted)
    let expected = PixelBuffer(width: 128, height: 128)
    Enlarge.draw(small, into: expected)
    Overlay.draw(large, over: expected)
    #expect(try answer.tile?.decoded().difference(from: expected) == .some(nil))
  }

  @Test func missingLayerIsEnlargedFromItsAncestor() throws {
    let (base, top) = (Drawings.hills(seed: 1), Drawings.islands(seed: 2))
    let answer = try TileResolver().answer(
      source("a", base, at: tile(2, 1, 0)), source("b", top), tile: wanted, policy: .overzoom)
    let expected = PixelBuffer(width: 64, height: 64)
    Enlarge.draw(
      base, column: Enlarge.Cell(index: 0, count: 2), row: Enlarge.Cell(index: 1, count: 2), into: expected)
    Overlay.draw(top, over: expected)
    #expect(try answer.tile?.decoded().difference(from: expected) == .some(nil))
  }

  @Test func layersWithoutDoublesAreEnlarged() throws {
    let base = Drawings.hills(seed: 1)
    let child = Drawings.islands(seed: 2)
    let answer = try TileResolver().answer(
      source("a", base), source("b", child, at: wanted.children[3]), tile: wanted, policy: .overzoom, scale: 2)
    let expected = PixelBuffer(width: 128, height: 128)
    Enlarge.draw(base, into: expected)
    let over = PixelBuffer(width: 128, height: 128)
    over.copy(child, x: 64, y: 64)
    Overlay.draw(over, over: expected)
    #expect(try answer.tile?.decoded().difference(from: expected) == .some(nil))
  }

  @Test func differentGridsAreRefused() throws {
    let other = MemorySource("b", tiles: [wanted: try Drawings.hills(seed: 1).encoded()])
    #expect {
      try TileResolver().answer(source("a", Drawings.hills(seed: 1)), other, tile: wanted)
    } throws: {
      ($0 as? ServeError)?.code == .badRequest && "\($0)".contains("WebMercatorQuad")
    }
  }

  @Test func vectorLayersAreRefused() throws {
    let roads = MemorySource("roads", format: .pbf, matrixSet: Grids.quad, tiles: [wanted: [0x1f, 0x8b]])
    #expect {
      try TileResolver().answer(source("a", Drawings.hills(seed: 1)), roads, tile: wanted)
    } throws: {
      ($0 as? ServeError)?.code == .badRequest && "\($0)".contains("roads has vector tiles")
    }
  }

  @Test func strictestPolicyAppliesWhereNoLayerHasATile() {
    #expect(MissingTilePolicy.composite([.blank, .noContent, .notFound]) == .notFound)
    #expect(MissingTilePolicy.composite([.blank, .overzoom]) == .notFound)
    #expect(MissingTilePolicy.composite([.blank, .noContent]) == .noContent)
    #expect(MissingTilePolicy.composite([.blank, .blank]) == .blank)
  }
}
