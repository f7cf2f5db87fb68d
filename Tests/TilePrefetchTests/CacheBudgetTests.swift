import Foundation
import MemoryPressure
import Synchronization
import TestSupport
import Testing
import TileIndex
import TilePrefetch

/// The budget holds under random operations.
@Suite(.ownThread) struct CacheBudgetTests {
  /// Numbers that no budget and no cost can be.
  @Test(arguments: [Int.min, -1, 0, 1, 100, .max], [Int.min, -1, 0, 1, 100, .max])
  func anyNumbersAreTaken(budget: Int, cost: Int) throws {
    let cache = TileCache<TileID, Int>(byteCountMax: budget, unusedShareMax: 7)
    for (number, tile) in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 2).enumerated() {
      switch number % 4 {
      case 0: cache.insert(number, for: tile, byteCount: cost)
      case 1: #expect(try cache.value(for: tile, byteCount: cost) { (number, byteCount: cost) } == number)
      default:
        if case .load(let load) = cache.begin(tile, byteCount: cost, purpose: number % 4 == 2 ? .prefetch : .demand) {
          cache.finish(load, .tile(number, byteCount: cost))
        }
      }
      let statistics = cache.statistics
      #expect(statistics.bytes >= 0 && statistics.bytes <= max(budget, 0) && statistics.reservedBytes == 0)
      #expect(statistics.entries > 0 || budget < cost || budget <= 0)
    }
    cache.trim(to: cost)
    cache.resize(to: cost)
    cache.adjust(to: .critical)
    #expect(cache.statistics.bytes <= max(cost, 0) && cache.prefetchBytesMax >= 0)
    var predictor = PrefetchPredictor()
    predictor.update(Viewport(longitude: 0, latitude: 0, zoom: 4, size: (256, 256)), phase: .rest, at: 0)
    _ = predictor.plan(countMax: budget)
  }

  /// A million operations with `LONG_TESTS=full`.
  private static let operationCount = TestEffort.isFull ? 1_000_000 : 60_000

  @Test(arguments: [UInt64(1), 2, 3], [true, false]) func randomOperationsStayWithinTheBudget(
    _ seed: UInt64, isLRU: Bool
  ) {
    var random = SeededGenerator(seed: seed)
    let eviction: any EvictionPolicy = isLRU ? LRUEviction() : DistanceEviction()
    let time = Mutex(Duration.zero)
    let cache = TileCache<TileID, CountedPicture>(
      byteCountMax: 4000, eviction: eviction, now: { time.withLock { $0 } })
    let held = CountedPicture.Count((bytes: 0, peak: 0))
    var budget = 4000
    var loads: [TileLoad<TileID, CountedPicture>] = []
    func randomTile() -> TileID {
      let zoom = Int.random(in: 5...8, using: &random)
      return TileID(unchecked: zoom, Int.random(in: 0..<24, using: &random), Int.random(in: 0..<24, using: &random))
    }
    for step in 0..<(Self.operationCount / 6) {
      switch Int.random(in: 0..<100, using: &random) {
      case ..<40:
        let tile = randomTile()
        if let picture = cache.value(for: tile) {
          #expect(picture.number == Self.value(tile), "seed \(seed), step \(step)")
        }
      case ..<70:
        let purpose: LoadPurpose = Bool.random(using: &random) ? .demand : .prefetch
        if case .load(let load) = cache.begin(
          randomTile(), byteCount: Int.random(in: 1...300, using: &random), purpose: purpose)
        {
          loads.append(load)
        }
      case ..<92:
        guard !loads.isEmpty else { continue }
        let load = loads.remove(at: Int.random(in: 0..<loads.count, using: &random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0: cache.finish(load, .absent)
        case 1: cache.finish(load, .failed(CancellationError()))
        default:
          let cost = Int.random(in: 1...350, using: &random)
          let picture = CountedPicture(cost, number: Self.value(load.key), in: held)
          cache.finish(load, .tile(picture, byteCount: cost))
        }
      case ..<96:
        let (column, row) = (Int.random(in: 0..<20, using: &random), Int.random(in: 0..<20, using: &random))
        let range = TileRange(zoom: 6, columns: column...(column + 3), rows: row...(row + 3))
        cache.show(range, focus: MapFocus(around: range), in: Int.random(in: 0..<2, using: &random))
      case 96:
        if let load = loads.last { cache.cancel(load) }
      case 97:
        budget = Int.random(in: 0...6000, using: &random)
        cache.resize(to: budget)
      case 98:
        time.withLock { $0 += .seconds(20) }
        let cost = Int.random(in: 1...300, using: &random)
        cache.insert(CountedPicture(cost, in: held), for: TileID(unchecked: 9, 0, step), byteCount: cost)
      default: cache.trim(to: budget / 2) { $0.zoom == 5 }
      }
      let statistics = cache.statistics
      guard statistics.bytes + statistics.reservedBytes <= budget, statistics.pinnedBytes <= statistics.bytes,
        statistics.unusedBytes <= statistics.bytes, statistics.pinnedBytes >= 0, statistics.unusedBytes >= 0
      else {
        Issue.record("seed \(seed), step \(step): \(statistics) with a budget of \(budget)")
        return
      }
      // Nothing that left the cache is held by it.
      let heldBytes = held.withLock { $0.bytes }
      guard heldBytes == statistics.bytes else {
        Issue.record("seed \(seed), step \(step): \(heldBytes) bytes are held, not \(statistics.bytes)")
        return
      }
    }
    for load in loads { cache.finish(load, .absent) }
    cache.hide(screen: 0)
    cache.hide(screen: 1)
    cache.removeAll()
    let end = cache.statistics
    #expect(
      end.bytes == 0 && end.reservedBytes == 0 && end.pinnedBytes == 0 && end.unusedBytes == 0, "seed \(seed): \(end)")
  }

  @Test func concurrentThreadsStayWithinTheBudget() throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 2000)
    let group = DispatchGroup()
    for seed in UInt64(1)...3 {
      group.enter()
      Thread.detachNewThread {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<4000 {
          let tile = TileID(
            unchecked: 8, Int.random(in: 0..<12, using: &random), Int.random(in: 0..<12, using: &random))
          switch Int.random(in: 0..<10, using: &random) {
          case 0:
            let range = TileRange(zoom: 8, columns: tile.column...(tile.column + 2), rows: tile.row...(tile.row + 2))
            cache.show(range, focus: MapFocus(around: range), in: Int(seed))
          case 1: cache.resize(to: Int.random(in: 1000...2000, using: &random))
          default:
            let answer = try? cache.value(for: tile, byteCount: 50) { (Self.value(tile), byteCount: 50) }
            precondition(answer == Self.value(tile))
          }
        }
        group.leave()
      }
    }
    var peak = 0
    while group.wait(timeout: .now() + 0.001) == .timedOut {
      let statistics = cache.statistics
      peak = max(peak, statistics.bytes + statistics.reservedBytes)
    }
    #expect(peak <= 2000 && cache.statistics.bytesPeak <= 2000)
    #expect(cache.statistics.reservedBytes == 0)
  }

  private static func value(_ tile: TileID) -> Int { tile.zoom * 1_000_000 + tile.row * 1000 + tile.column }
}
