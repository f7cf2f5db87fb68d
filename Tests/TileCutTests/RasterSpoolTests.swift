import Foundation
import TestSupport
import Testing

@testable import TileCut

@Suite("Spooled rasters and the block cache", .ownThread)
struct RasterSpoolTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Strips of which a band does not fit into the cache, and a single strip that does not fit, in several pixel forms.
  @Test(
    "Strips too large for the cache are spooled and give the same pixels",
    arguments: [(1, 1, false), (3, 2, false), (3, 2, true), (4, 2, false)], [200, 1300])
  func strips(form: (samples: Int, photometric: Int, isSeparate: Bool), rowsPerStrip: Int) throws {
    var fixture = TIFFFixture(width: 110, height: 1300)
    (fixture.samples, fixture.photometric, fixture.isSeparate) = form
    fixture.rowsPerStrip = rowsPerStrip
    fixture.tags = TIFFFixture.placed
    if form.samples == 4 { fixture.tags[338] = .short([2]) }
    let path = try fixture.write(folder)
    var options = RasterOpenOptions(scratchDirectory: folder.url.path)
    let expected = try RasterFile.open(path: path, options: options).words()
    options.cacheBytesMax = 80_000
    let source = try RasterFile.open(path: path, options: options)
    #expect(try source.words() == expected)
    let window = PixelRect(x: 100, y: 1100, width: 10, height: 200)
    #expect(try source.words(window).words == crop(expected, width: 110, window))
  }

  @Test("Twelve rasters share one cache and its budget")
  func sharedCache() throws {
    let cache = BlockCache(bytesMax: 100_000)
    var options = RasterOpenOptions(scratchDirectory: folder.url.path)
    options.cache = cache
    var sources: [any RasterSource] = []
    for i in 0..<12 {
      var fixture = TIFFFixture(width: 128, height: 128)
      fixture.tags = TIFFFixture.placed
      fixture.tile = (32, 32)
      fixture.sample = { x, y, _ in Double((x + y * 2 + i * 20) % 256) }
      sources.append(try RasterFile.open(path: fixture.write(folder, "\(i).tif"), options: options))
    }
    for _ in 0..<2 {
      for (i, source) in sources.enumerated() {
        let expected: [UInt32] = (0..<128 * 128).map { pixel in
          let value = pixel % 128 + pixel / 128 * 2 + i * 20
          return grey(value % 256)
        }
        #expect(try source.words() == expected)
        #expect(cache.bytes <= 100_000)
      }
    }
    sources = []
    #expect(cache.bytes == 0)
  }

  @Test("A block is decoded once, however many threads request it")
  func decodedOnce() throws {
    let cache = BlockCache(bytesMax: 1 << 20)
    let decodes = FailureCount()
    let wrong = FailureCount()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for block in 0..<50 {
        let value = try? cache.withBlock(.init(raster: 1, block: block), byteCount: 64, waits: true) { buffer in
          decodes.add()
          usleep(200)
          buffer.storeBytes(of: UInt64(block), as: UInt64.self)
          return .pixels
        } body: {
          $0!.load(as: UInt64.self)
        }
        if value != UInt64(block) { wrong.add() }
      }
    }
    #expect(decodes.count == 50)
    #expect(wrong.count == 0)
    #expect(cache.bytes == 50 * 64)
    cache.removeAll(raster: 1)
    #expect(cache.bytes == 0)
  }

  @Test("The least recently used block is evicted first, a block in use never")
  func eviction() throws {
    let cache = BlockCache(bytesMax: 300)
    var decoded: [Int] = []
    func use(_ block: Int, _ inside: () throws -> Void = {}) throws {
      _ = try cache.withBlock(.init(raster: 1, block: block), byteCount: 100, waits: true) { buffer in
        decoded.append(block)
        buffer.storeBytes(of: block, as: Int.self)
        return .pixels
      } body: { pixels in
        try inside()
        #expect(pixels!.load(as: Int.self) == block)
      }
    }
    for block in [1, 2, 3, 1, 4, 1, 2] { try use(block) }
    #expect(decoded == [1, 2, 3, 4, 2])
    try use(7) {
      for block in 10..<20 { try use(block) }
    }
    decoded = []
    try use(7)
    #expect(decoded == [7] || decoded.isEmpty)
    #expect(cache.bytes <= 300)
    // Blocks in use may exceed the budget.
    try use(20) { try use(21) { try use(22) { try use(23) { #expect(cache.bytes == 400) } } } }
    #expect(cache.bytes <= 300)
  }

  @Test("A block that fails to decode and a transparent block take no bytes in the cache")
  func failure() throws {
    struct Failure: Error {}
    let cache = BlockCache(bytesMax: 1000)
    let key = BlockCache.Key(raster: 1, block: 1)
    for _ in 0..<3 {
      #expect(throws: Failure.self) {
        _ = try cache.withBlock(key, byteCount: 100, waits: true) { _ in
          throw Failure()
        } body: { _ in
        }
      }
    }
    #expect(cache.bytes == 100, "the buffer is kept for the next block")
    let isTransparent = try cache.withBlock(key, byteCount: 100, waits: true) { _ in
      .transparent
    } body: {
      $0 == nil
    }
    #expect(isTransparent == true)
    let value = try cache.withBlock(.init(raster: 1, block: 2), byteCount: 100, waits: true) { buffer in
      buffer.storeBytes(of: 5, as: Int.self)
      return .pixels
    } body: {
      $0!.load(as: Int.self)
    }
    #expect(value == 5 && cache.bytes == 100)
  }

  @Test("A reservation takes up to half of the budget until it is released")
  func reservation() throws {
    let cache = BlockCache(bytesMax: 1000)
    var room = cache.reserve(400)
    #expect(room != nil && cache.bytes == 400)
    #expect(cache.reserve(101) == nil)
    let more = cache.reserve(100)
    #expect(more != nil && cache.bytes == 500)
    room = nil
    _ = room
    #expect(cache.bytes == 100)
  }
}
