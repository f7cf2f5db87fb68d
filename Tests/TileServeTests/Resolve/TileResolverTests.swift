import Foundation
import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex
import TilePrefetch

@testable import TileServe

@Suite(.ownThread) struct TileResolverTests {
  private let wanted = tile(3, 2, 1)

  private func source(_ pixels: PixelBuffer, _ format: TileFormat = .png) throws -> MemorySource {
    MemorySource("relief", format: format, matrixSet: Grids.quad, tiles: [wanted: try pixels.encoded(format)])
  }

  @Test(arguments: [TileFormat.png, .jpg, .webp], [TileFormat?.none, .png, .jpg, .webp])
  func everyRasterFormatIsGivenAsEveryOther(_ stored: TileFormat, asked: TileFormat?) throws {
    let pixels = Drawings.hills(seed: 8)
    let source = try source(pixels, stored)
    let answer = try #require(try TileResolver().answer(source, tile: wanted, format: asked).tile)
    #expect(answer.format == asked ?? stored)
    #expect(answer.bytes.withUnsafeBytes { TileFormat(sniffing: $0) } == asked ?? stored)
    if asked == nil || asked == stored {
      #expect(answer.bytes == (try pixels.encoded(stored)))
    } else {
      let before = try Tile(bytes: pixels.encoded(stored), format: stored).decoded()
      let isLossless = stored != .jpg && asked != .jpg || asked == .png
      #expect(try answer.decoded().difference(from: before, tolerance: isLossless ? 0 : 120) == nil)
      let distance = try answer.decoded().meanColour - before.meanColour
      #expect(max(abs(distance.x), abs(distance.y), abs(distance.z)) < 4)
    }
  }

  @Test func transparentPixelsOfJPEGAreWhite() throws {
    let source = try source(Drawings.uniform(.transparent))
    let answer = try #require(try TileResolver().answer(source, tile: wanted, format: .jpg).tile)
    #expect(try answer.decoded().uniformColour == .white)
  }

  /// Some tilesets store photographs as JPEG and the rest as PNG; both are served under the tileset's extension.
  @Test func mixedFormatsStayAsStored() throws {
    let bytes = try Drawings.hills(seed: 1).encoded(.jpg)
    let source = MemorySource("mixed", format: .png, matrixSet: Grids.quad, tiles: [wanted: bytes])
    #expect(
      try TileResolver().answer(source, tile: wanted, format: .png) == .tile(Tile(bytes: bytes, format: .jpg)))
  }

  @Test func vectorTilesAreServedAsStored() throws {
    let bytes: [UInt8] = [0x1f, 0x8b, 8, 0, 1]
    let source = MemorySource("roads", format: .pbf, tiles: [wanted: bytes, tile(3, 0, 0): [0x1a, 0]])
    let resolver = TileResolver()
    #expect(try resolver.answer(source, tile: wanted, format: .pbf) == .tile(Tile(bytes: bytes, format: .pbf)))
    #expect(try resolver.answer(source, tile: tile(3, 0, 0)) == .tile(Tile(bytes: [0x1a, 0], format: .pbf)))
    #expect(try resolver.answer(source, tile: tile(3, 1, 0)) == .missing(.notFound))
    #expect(try resolver.answer(source, tile: tile(3, 1, 0), policy: .noContent) == .missing(.noContent))
    #expect(try resolver.answer(source, tile: tile(3, 1, 0), policy: .blank) == .missing(.noContent))
  }

  @Test func impossibleFormatsAreRefused() throws {
    let vector = MemorySource("roads", format: .pbf, tiles: [wanted: [0x1f, 0x8b]])
    #expect {
      try TileResolver().answer(vector, tile: wanted, format: .png)
    } throws: {
      $0 as? ServeError == ServeError(.badRequest, "roads has vector tiles: ask for .pbf instead of .png")
    }
    let raster = try source(Drawings.hills(seed: 1), .jpg)
    #expect {
      try TileResolver().answer(raster, tile: wanted, format: .pbf)
    } throws: {
      $0 as? ServeError == ServeError(.badRequest, "relief has no vector tiles: ask for .jpg instead of .pbf")
    }
  }

  @Test(arguments: [tile(21, 0, 0), tile(3, 32, 0), tile(3, 0, 16), tile(2, -1, 0)])
  func tilesOutsideTheGridAreRefused(_ outside: TileID) throws {
    let source = try source(Drawings.hills(seed: 1))
    #expect {
      try TileResolver().answer(source, tile: outside)
    } throws: {
      ($0 as? ServeError)?.code == .badRequest && "\($0)".contains("\(outside)")
    }
  }

  @Test(arguments: [
    (MissingTilePolicy.notFound, TileAnswer.missing(.notFound)), (.noContent, .missing(.noContent)),
    (.overzoom, .missing(.notFound)),
  ])
  func aMissingTileIsAnsweredByThePolicy(_ policy: MissingTilePolicy, expected: TileAnswer) throws {
    #expect(try TileResolver().answer(source(Drawings.hills(seed: 1)), tile: tile(3, 7, 7), policy: policy) == expected)
  }

  @Test(arguments: [TileFormat.png, .jpg, .webp])
  func aBlankTileHasTheSizeAndFormatOfTheOthers(_ format: TileFormat) throws {
    let resolver = TileResolver()
    let source = try source(Drawings.hills(seed: 1), format)
    let blank = try #require(try resolver.answer(source, tile: tile(3, 7, 7), policy: .blank).tile)
    #expect(blank.format == format)
    #expect(try blank.decoded().size == ImageSize(width: 64, height: 64))
    #expect(try blank.decoded().uniformColour == (format == .jpg ? .white : .transparent))
    #expect(try resolver.answer(source, tile: tile(3, 7, 6), policy: .blank).tile == blank)
  }

  @Test(arguments: [[UInt8](), [1, 2, 3, 4], [0x1f, 0x8b, 8, 0]])
  func bytesThatAreNoImageAreADamagedTile(_ bytes: [UInt8]) throws {
    let source = MemorySource("relief", matrixSet: Grids.quad, tiles: [wanted: bytes])
    #expect {
      try TileResolver().answer(source, tile: wanted)
    } throws: {
      ($0 as? ServeError)?.code == .damagedTile && "\($0)".contains("tile 3/2/1 of relief")
    }
  }

  @Test(arguments: [TileFormat.png, .jpg, .webp])
  func aTruncatedImageIsADamagedTileWhereItIsDrawn(_ format: TileFormat) throws {
    let bytes = try Drawings.hills(seed: 1).encoded(format)
    let source = MemorySource(
      "relief", format: format, matrixSet: Grids.quad, tiles: [wanted: Array(bytes.prefix(bytes.count / 2))])
    let resolver = TileResolver()
    for _ in 0..<2 {
      #expect {
        try resolver.answer(source, tile: wanted.children[1], policy: .overzoom)
      } throws: {
        ($0 as? ServeError)?.code == .damagedTile && "\($0)".contains("tile 3/2/1 of relief")
      }
    }
  }

  @Test func renderedTilesAreCached() throws {
    let cache = DrawnTileCache(byteCountMax: 1 << 20)
    let resolver = TileResolver(cache: cache)
    let source = try source(Drawings.hills(seed: 1))
    let first = try resolver.answer(source, tile: wanted.children[0], policy: .overzoom)
    let readCount = source.readTiles.count
    #expect(try resolver.answer(source, tile: wanted.children[0], policy: .overzoom) == first)
    #expect(source.readTiles.count == readCount)
    #expect(cache.statistics.hits == 1 && cache.statistics.misses == 1)
    // Another revision of the source has other cache keys.
    _ = try resolver.answer(self.source(Drawings.hills(seed: 1)), tile: wanted.children[0], policy: .overzoom)
    #expect(cache.statistics.misses == 2)
  }

  @Test func storedTilesAreNotCached() throws {
    let cache = DrawnTileCache(byteCountMax: 1 << 20)
    _ = try TileResolver(cache: cache).answer(source(Drawings.hills(seed: 1)), tile: wanted)
    #expect(cache.statistics.entries == 0 && cache.statistics.misses == 0)
  }

  /// Concurrent requests for a tile of a slow disk share one read.
  @Test func concurrentReadsOfASlowTileAreShared() throws {
    let bytes = try Drawings.hills(seed: 2).encoded(.png)
    let source = MemorySource("far", matrixSet: Grids.quad, tiles: [wanted: bytes], isSlow: true)
    let gate = Gate()
    defer { gate.open() }
    source.gate.withLock { $0 = gate }
    let cache = DrawnTileCache(byteCountMax: 1 << 20)
    let resolver = TileResolver(cache: cache)
    let answers = Locked<[TileAnswer?]>([])
    let wanted = wanted
    for _ in 0..<4 {
      Thread.detachNewThread {
        let answer = try? resolver.answer(source, tile: wanted)
        answers.withLock { $0.append(answer) }
      }
    }
    #expect(eventually { cache.statistics.joined == 3 })
    gate.open()
    #expect(eventually { answers.withLock { $0.count } == 4 })
    #expect(answers.withLock { $0 }.allSatisfy { $0 == .tile(Tile(bytes: bytes, format: .png)) })
    #expect(source.readTiles == [wanted])
    // A missing tile is remembered for a while, and answered by the policy.
    let missing = tile(3, 3, 1)
    for policy in [MissingTilePolicy.notFound, .noContent] {
      for _ in 0..<2 { #expect(try resolver.answer(source, tile: missing, policy: policy) == .missing(policy)) }
    }
    #expect(source.readTiles.count == 3, "once for each policy: \(source.readTiles)")
  }

  @Test func threadsGetTheSameTiles() async throws {
    let resolver = TileResolver(cache: DrawnTileCache(byteCountMax: 20_000))
    let source = try source(Drawings.islands(seed: 1))
    let reference = TileResolver(cache: DrawnTileCache(byteCountMax: 0))
    let places = wanted.children.flatMap(\.children)
    let expected = try places.map { try reference.answer(source, tile: $0, policy: .overzoom) }
    try await withThrowingTaskGroup(of: [TileAnswer].self) { group in
      for _ in 0..<4 {
        group.addTask {
          try (0..<5).flatMap { _ in try places.map { try resolver.answer(source, tile: $0, policy: .overzoom) } }
        }
      }
      for try await answers in group { #expect(answers == (0..<5).flatMap { _ in expected }) }
    }
  }
}
