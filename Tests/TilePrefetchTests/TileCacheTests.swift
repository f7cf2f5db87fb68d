import MemoryPressure
import Synchronization
import TestSupport
import Testing
import TileIndex
import TilePrefetch

private struct Refused: Error {}

private func tile(_ column: Int, _ row: Int = 0, zoom: Int = 8) -> TileID { TileID(unchecked: zoom, column, row) }

private func focus(_ columns: ClosedRange<Int>) -> MapFocus {
  MapFocus(around: TileRange(zoom: 8, columns: columns, rows: 0...0))
}

/// Starts and ends a load.
private func load(_ cache: TileCache<TileID, Int>, _ tile: TileID, _ bytes: Int, purpose: LoadPurpose = .demand) -> Bool
{
  guard case .load(let load) = cache.begin(tile, byteCount: bytes, purpose: purpose) else { return false }
  cache.finish(load, .tile(tile.column, byteCount: bytes))
  return true
}

@Suite(.ownThread) struct TileCacheTests {
  @Test func loadedTilesAreKept() throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 100)
    #expect(cache.value(for: tile(1)) == nil)
    #expect(try cache.value(for: tile(1), byteCount: 40) { (7, byteCount: 40) } == 7)
    #expect(cache.value(for: tile(1)) == 7)
    #expect(try cache.value(for: tile(1), byteCount: 40) { throw Refused() } == 7)
    let statistics = cache.statistics
    #expect(statistics.hits == 2 && statistics.misses == 1 && statistics.bytes == 40 && statistics.entries == 1)
  }

  @Test func leastRecentlyUsedTileIsEvicted() {
    let cache = TileCache<TileID, Int>(byteCountMax: 30, eviction: LRUEviction())
    for column in 0..<3 { #expect(load(cache, tile(column), 10)) }
    _ = cache.value(for: tile(0))
    #expect(load(cache, tile(3), 10))
    #expect(cache.contains(tile(0)) && !cache.contains(tile(1)) && cache.contains(tile(2)))
  }

  @Test func farthestTileIsEvicted() {
    let cache = TileCache<TileID, Int>(byteCountMax: 40)
    cache.show([], focus: focus(10...13))
    for column in [200, 14, 15] { #expect(load(cache, tile(column), 10)) }
    // A difference of one zoom counts 1.2 halves of the screen: nearer than column 200, farther than 14.
    #expect(load(cache, tile(5, zoom: 7), 10))
    #expect(load(cache, tile(16), 10))
    #expect(!cache.contains(tile(200)) && cache.contains(tile(14)))
  }

  @Test func plannedTilesAreEvictedLast() {
    let cache = TileCache<TileID, Int>(byteCountMax: 30)
    var focus = focus(10...13)
    focus.wanted = [tile(90): 0, tile(91): 1]
    cache.show([], focus: focus)
    for column in [90, 91, 14] { #expect(load(cache, tile(column), 10)) }
    #expect(load(cache, tile(15), 10))
    #expect(!cache.contains(tile(14)) && cache.contains(tile(90)))
    #expect(load(cache, tile(16), 10) && load(cache, tile(17), 20))
    #expect(!cache.contains(tile(91)) && cache.contains(tile(90)), "the least urgent of them goes first")
  }

  @Test func tilesOnTheScreenAreNotEvicted() {
    let cache = TileCache<TileID, Int>(byteCountMax: 30, eviction: LRUEviction())
    for column in 0..<3 { #expect(load(cache, tile(column), 10)) }
    cache.show([tile(0), tile(1)], focus: focus(0...1))
    for column in 3..<9 { #expect(load(cache, tile(column), 10)) }
    #expect(cache.contains(tile(0)) && cache.contains(tile(1)))
    #expect(cache.statistics.pinnedBytes == 20)
    cache.show([tile(8)], focus: focus(8...8))
    #expect(cache.statistics.pinnedBytes == 10)
    #expect(load(cache, tile(9), 20))
    #expect(!cache.contains(tile(0)) && cache.contains(tile(8)))
  }

  @Test func twoScreensPinATileTwice() {
    let cache = TileCache<TileID, Int>(byteCountMax: 20, eviction: LRUEviction())
    #expect(load(cache, tile(0), 10))
    cache.show([tile(0)], focus: focus(0...0), in: 1)
    cache.show([tile(0)], focus: focus(0...0), in: 2)
    cache.hide(screen: 1)
    #expect(load(cache, tile(1), 10) && load(cache, tile(2), 10))
    #expect(cache.contains(tile(0)))
    cache.hide(screen: 2)
    #expect(load(cache, tile(3), 10) && load(cache, tile(4), 10))
    #expect(!cache.contains(tile(0)) && cache.statistics.pinnedBytes == 0)
  }

  @Test func tilesThatDoNotFitAreReturnedButNotKept() throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 20)
    cache.show((0..<4).map { tile($0) }, focus: focus(0...3))
    for column in 0..<4 {
      #expect(try cache.value(for: tile(column), byteCount: 10) { (column, byteCount: 10) } == column)
    }
    let statistics = cache.statistics
    #expect(statistics.bytes == 20 && statistics.entries == 2 && statistics.uncached == 2)
    #expect(statistics.bytesPeak == 20)
  }

  @Test func loadsReserveTheirCost() {
    let cache = TileCache<TileID, Int>(byteCountMax: 30)
    guard case .load(let first) = cache.begin(tile(0), byteCount: 20) else { return #expect(Bool(false)) }
    guard case .load(let second) = cache.begin(tile(1), byteCount: 20) else { return #expect(Bool(false)) }
    #expect(cache.statistics.reservedBytes == 20, "the second found no room")
    cache.finish(second, .tile(1, byteCount: 20))
    #expect(!cache.contains(tile(1)))
    cache.finish(first, .tile(0, byteCount: 20))
    #expect(cache.contains(tile(0)) && cache.statistics.reservedBytes == 0)
  }

  @Test func tileLargerThanAnnouncedEvictsOthersOrIsNotKept() {
    let cache = TileCache<TileID, Int>(byteCountMax: 30, eviction: LRUEviction())
    #expect(load(cache, tile(0), 20))
    guard case .load(let own) = cache.begin(tile(1), byteCount: 10) else { return #expect(Bool(false)) }
    cache.finish(own, .tile(1, byteCount: 25))
    #expect(cache.contains(tile(1)) && !cache.contains(tile(0)))
    guard case .load(let huge) = cache.begin(tile(2), byteCount: 10) else { return #expect(Bool(false)) }
    cache.finish(huge, .tile(2, byteCount: 31))
    #expect(!cache.contains(tile(2)) && cache.statistics.bytes <= 30)
  }

  @Test func negativeEntriesExpire() throws {
    let time = Mutex(Duration.zero)
    let cache = TileCache<TileID, Int>(
      byteCountMax: 100, absentLifetime: .seconds(10), now: { time.withLock { $0 } })
    var count = 0
    func ask() throws -> Int? {
      try cache.value(for: tile(0), byteCount: 10) {
        count += 1
        return nil
      }
    }
    #expect(try ask() == nil && ask() == nil)
    #expect(count == 1 && cache.statistics.absentHits == 1 && cache.isAbsent(tile(0)))
    time.withLock { $0 = .seconds(11) }
    #expect(try ask() == nil)
    #expect(count == 2)
    cache.remove(tile(0))
    #expect(try ask() == nil)
    #expect(count == 3)
  }

  @Test func failuresAreNotCached() throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 100)
    #expect(throws: Refused.self) { try cache.value(for: tile(0), byteCount: 10) { throw Refused() } }
    #expect(cache.statistics.reservedBytes == 0 && cache.statistics.failures == 1)
    #expect(try cache.value(for: tile(0), byteCount: 10) { (1, byteCount: 10) } == 1)
  }

  @Test func prefetchesStayWithinTheirShare() {
    let cache = TileCache<TileID, Int>(byteCountMax: 100, unusedShareMax: 0.5)
    cache.show([], focus: focus(0...3))
    for column in 0..<5 { #expect(load(cache, tile(column), 10, purpose: .prefetch)) }
    // Farther than all kept tiles.
    #expect(!load(cache, tile(60), 10, purpose: .prefetch))
    #expect(cache.statistics.unusedBytes == 50 && cache.statistics.refusals == 1)
    _ = cache.value(for: tile(0))
    #expect(cache.statistics.unusedBytes == 40 && cache.statistics.prefetchesUsed == 1)
    #expect(load(cache, tile(60), 10, purpose: .prefetch))
    // A nearer one replaces it.
    #expect(load(cache, tile(6), 10, purpose: .prefetch))
    #expect(!cache.contains(tile(60)) && cache.statistics.unusedBytes == 50)
  }

  @Test func prefetchesDoNotEvictMoreValuableTiles() {
    let cache = TileCache<TileID, Int>(byteCountMax: 20, unusedShareMax: 1)
    cache.show([], focus: focus(0...3))
    #expect(load(cache, tile(1), 10) && load(cache, tile(2), 10))
    #expect(!load(cache, tile(90), 10, purpose: .prefetch))
    #expect(cache.contains(tile(1)) && cache.contains(tile(2)))
  }

  @Test func trimGivesMemoryBack() {
    let cache = TileCache<TileID, Int>(byteCountMax: 100)
    for column in 0..<8 { #expect(load(cache, tile(column), 10)) }
    #expect(load(cache, tile(0, zoom: 2), 10) && load(cache, tile(9), 10, purpose: .prefetch))
    cache.show([tile(0), tile(1)], focus: focus(0...1))
    cache.dropUnused()
    #expect(!cache.contains(tile(9)))
    cache.trim(to: 0) { $0.zoom < 4 }
    #expect(cache.statistics.bytes == 30 && cache.contains(tile(0, zoom: 2)) && cache.contains(tile(1)))
    cache.resize(to: 20)
    #expect(cache.statistics.bytes == 20 && !cache.contains(tile(0, zoom: 2)), "those on the screen go last")
    cache.resize(to: 10)
    #expect(cache.statistics.bytes == 10)
    cache.resize(to: 100)
    #expect(load(cache, tile(50), 90))
    cache.removeAll()
    #expect(cache.statistics.bytes == 0 && cache.statistics.pinnedBytes == 0)
  }

  /// Next to a deep screen the coarse zooms are the farthest tiles; memory pressure keeps them.
  @Test(arguments: [PressureLevel.warning, .critical]) func memoryPressureKeepsTheCoarseZooms(_ level: PressureLevel) {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    let screen = TileRange(zoom: 14, columns: 8000...8002, rows: 6000...6001)
    cache.show(screen, focus: MapFocus(around: screen))
    for tile in screen { #expect(load(cache, tile, 10)) }
    let coarse = (0...2).flatMap { zoom in
      (0..<(1 << zoom)).map { TileID(unchecked: zoom, $0, 0) }
    }
    for tile in coarse { #expect(load(cache, tile, 10)) }
    for column in 0..<80 { #expect(load(cache, tile(column, 9, zoom: 14), 10)) }
    cache.adjust(to: level)
    #expect(cache.byteCountMax == (level == .warning ? 500 : 250))
    for tile in coarse + Array(screen) { #expect(cache.contains(tile), "\(tile)") }
    #expect(cache.statistics.bytes <= cache.byteCountMax && cache.statistics.evictions == 0)
    // A new budget applies in full when the pressure ends.
    cache.resize(to: 400)
    #expect(cache.byteCountMax == (level == .warning ? 200 : 100))
    cache.adjust(to: .normal)
    #expect(cache.byteCountMax == 400)
  }

  @Test func shrinkingKeepsTheGivenTilesLongest() {
    let cache = TileCache<TileID, Int>(byteCountMax: 100)
    cache.show([], focus: focus(10...13))
    for column in [200, 11, 12, 14] { #expect(load(cache, tile(column), 10)) }
    cache.resize(to: 20) { $0 == tile(200) }
    #expect(cache.contains(tile(200)) && cache.statistics.entries == 2 && cache.statistics.trims == 2)
    cache.resize(to: 10) { $0 == tile(200) }
    #expect(cache.contains(tile(200)) && cache.statistics.entries == 1)
  }

  /// Prefetches while their share is full: the farthest of the unused tiles is evicted.
  @Test func unusedPrefetchedTilesAreEvictedByDistance() {
    let cache = TileCache<TileID, Int>(byteCountMax: 400, unusedShareMax: 0.5)
    cache.show([], focus: focus(0...3))
    for column in 100..<120 { #expect(load(cache, tile(column), 10, purpose: .prefetch)) }
    for column in 200..<220 { #expect(load(cache, tile(column), 10)) }
    for column in (20..<40).reversed() { #expect(load(cache, tile(column), 10, purpose: .prefetch)) }
    for column in 20..<40 { #expect(cache.contains(tile(column)), "\(column)") }
    #expect(cache.statistics.unusedBytes == 200 && cache.statistics.evictions == 20)
    for column in 200..<220 { #expect(cache.contains(tile(column))) }
  }

  @Test func shrinkingTakesReservationsBack() {
    let cache = TileCache<TileID, Int>(byteCountMax: 40)
    guard case .load(let own) = cache.begin(tile(0), byteCount: 30) else { return #expect(Bool(false)) }
    cache.resize(to: 20)
    #expect(cache.statistics.reservedBytes == 0)
    cache.finish(own, .tile(0, byteCount: 30))
    #expect(cache.statistics.bytes == 0)
  }
}
