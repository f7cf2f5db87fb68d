import Support
import TestSupport
import Testing
import TileImage
import TileIndex
import TilePrefetch

@testable import TileServe

/// Memory for tiles that are being drawn.
@Suite(.ownThread) struct DrawingBudgetTests {
  @Test func neverMoreThanThereIs() {
    let budget = PixelBudget(byteCountMax: 100)
    let (used, most) = (Locked(0), Locked(0))
    WorkerThread.run(count: 8) {
      for byteCount in [10, 60, 100, 35, 1, 80, 50] {
        try? budget.take(byteCount)
        let now = used.withLock { used in
          used += byteCount
          return used
        }
        most.withLock { $0 = max($0, now) }
        used.withLock { $0 -= byteCount }
        budget.give(byteCount)
      }
    }
    #expect(most.withLock { $0 } == 100 && used.withLock { $0 } == 0 && budget.use.peak == 100)
  }

  /// Small drawings do not pass a large one that waits, and it does not wait when its client is gone.
  @Test func firstComeFirstServed() async throws {
    let budget = PixelBudget(byteCountMax: 100)
    try budget.take(60)
    let order = Locked<[Int]>([])
    let cancellation = Cancellation()
    func waiting(_ byteCount: Int) -> Task<Void, any Error> {
      Task {
        try await onThread {
          try cancellation.run { try budget.take(byteCount) }
          order.withLock { $0.append(byteCount) }
        }
      }
    }
    let large = waiting(90)
    #expect(try await onThread { eventually { budget.use.waiting == 1 } })
    let small = waiting(10)
    #expect(try await onThread { eventually { budget.use.waiting == 2 } })
    #expect(order.withLock { $0 }.isEmpty)
    budget.give(60)
    _ = try await (large.value, small.value)
    #expect(order.withLock { $0 } == [90, 10] || order.withLock { $0 } == [10, 90])
    let late = waiting(1)
    #expect(try await onThread { eventually { budget.use.waiting == 1 } })
    cancellation.cancel()
    budget.give(0)
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test(arguments: [TileFormat.png, .jpg, .webp]) func aTileThatNeverFitsIsRefused(_ format: TileFormat) throws {
    let large = PixelBuffer(width: 1024, height: 1024)
    let encoding: TileEncoding =
      switch format {
      case .jpg: .jpeg(JPEGOptions())
      case .webp: .webp(WebPOptions(effort: 0))
      default: .png(PNGOptions(effort: .fast, compressionLevel: 1))
      }
    let bytes = try TileEncoder(encoding).encode(large)
    let source = MemorySource("large", format: format, tilePixels: 1024, tiles: [tile(1, 0, 0): bytes])
    let resolver = TileResolver(
      cache: DrawnTileCache(byteCountMax: 1 << 20), budget: DrawingBudget(byteCountMax: 4 << 20))
    // As it is stored it costs nothing.
    #expect(try resolver.answer(source, tile: tile(1, 0, 0)).tile?.bytes == bytes)
    let error = #expect(throws: ServeError.self) {
      try resolver.answer(source, tile: tile(2, 0, 0), policy: .overzoom)
    }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("tile 1/0/0 of large has 1024 x 1024 pixels") == true, "\(error as Any)")
    let roomy = TileResolver(
      cache: DrawnTileCache(byteCountMax: 1 << 20), budget: DrawingBudget(byteCountMax: 32 << 20))
    #expect(try roomy.answer(source, tile: tile(2, 0, 0), policy: .overzoom).tile != nil)
  }

  /// The header says how much there would be; nothing is decoded.
  @Test func headersThatSayTooMuchAreRefused() throws {
    var bytes = try PixelBuffer(width: 8, height: 8).encoded()
    for (offset, byte) in [(16, 0), (17, 0), (18, 0x75), (19, 0x30), (20, 0), (21, 0), (22, 0x75), (23, 0x30)] {
      bytes[offset] = UInt8(byte)
    }
    let source = MemorySource("huge", tiles: [tile(1, 0, 0): bytes])
    let error = #expect(throws: ServeError.self) {
      try TileResolver().answer(source, tile: tile(2, 0, 0), policy: .overzoom)
    }
    #expect(error?.code == .tooLarge && error?.message.contains("30000 x 30000") == true, "\(error as Any)")
  }
}
