import MemoryPressure
import Synchronization
import TestSupport
import Testing
import TileIndex
import TilePrefetch

private struct Refused: Error {}

/// Returns a given plan.
private struct FixedPlan: PrefetchPlanner {
  var tiles: [TileID]
  mutating func update(_ viewport: Viewport, phase: CameraPhase, at time: Double) {}
  func plan(countMax: Int) -> [TileID] { tiles }
}

/// A clock that tests advance.
private final class HandClock: Sendable {
  private let time = Mutex(Duration.zero)
  var now: Duration { time.withLock { $0 } }
  func advance(_ seconds: Double) { time.withLock { $0 += .seconds(seconds) } }
}

private let cost = 10

/// A viewport with one tile on the screen: the one of zoom 8 in the given column.
private func viewport(_ column: Int) -> Viewport {
  Viewport(x: (Double(column) + 0.5) / 256, y: 0.5 / 256, zoom: 8, width: 200, height: 200)
}

private func tile(_ column: Int, zoom: Int = 8) -> TileID { TileID(unchecked: zoom, column, 0) }

@Suite(.ownThread) struct MapLoaderTests {
  private let clock = HandClock()

  private func cache(_ tileCount: Int) -> TileCache<TileID, Int> {
    TileCache(byteCountMax: tileCount * cost, absentLifetime: .seconds(30), now: { [clock] in clock.now })
  }

  private func loader(
    _ cache: TileCache<TileID, Int>, plan: [TileID] = [], loadsMax: Int = 2, screen: Int = 0
  ) -> MapLoader<Int> {
    MapLoader(
      cache: cache, planner: FixedPlan(tiles: plan), source: .init(loadsMax: loadsMax), tileCost: cost, screen: screen)
  }

  /// Runs all loads that the loader wants.
  private func loadAll(_ loader: MapLoader<Int>) {
    while let load = loader.next() { loader.finish(load, .tile(load.key.column, byteCount: cost)) }
  }

  /// The cache has recorded a failed prefetch, the loader has not yet, and its tile comes onto the screen.
  @Test func visibleTileWhosePrefetchFailsIsLoaded() throws {
    let cache = cache(100)
    let loader = loader(cache, plan: [tile(21)])
    loader.update(viewport(20), phase: .rest, at: 0)
    let shown = try #require(loader.next())
    let ahead = try #require(loader.next())
    #expect(ahead.key == tile(21))
    cache.finish(ahead, .failed(Refused()))
    #expect(loader.update(viewport(21), phase: .rest, at: 1).missing == [tile(21)])
    loader.finish(ahead, .failed(Refused()))
    loader.finish(shown, .tile(20, byteCount: cost))
    clock.advance(2)
    loadAll(loader)
    #expect(loader.tile(tile(21)) == 21 && cache.statistics.reservedBytes == 0)
  }

  /// The same where its reservation was taken back, so that the tile was loaded but not kept.
  @Test func visibleTileWhosePrefetchIsNotKeptIsHeld() throws {
    let cache = cache(100)
    let loader = loader(cache, plan: [tile(21)])
    loader.update(viewport(20), phase: .rest, at: 0)
    loadAll(loader)
    cache.remove(tile(21))
    loader.update(viewport(20), phase: .rest, at: 0)
    let ahead = try #require(loader.next())
    cache.resize(to: 0)
    cache.finish(ahead, .tile(21, byteCount: cost))
    loader.update(viewport(21), phase: .rest, at: 1)
    loader.finish(ahead, .tile(21, byteCount: cost))
    #expect(loader.tile(tile(21)) == 21 && cache.statistics.reservedBytes == 0)
    #expect(loader.next() == nil)
  }

  @Test func failedVisibleTileIsRetried() throws {
    let loader = loader(cache(100))
    loader.update(viewport(20), phase: .rest, at: 0)
    for delay in [1.0, 2, 4, 8, 16, 32, 60, 60] {
      loader.finish(try #require(loader.next()), .failed(Refused()))
      #expect(loader.next() == nil && loader.retryDelay == .seconds(delay))
      clock.advance(delay - 0.5)
      // Neither time nor frames make it retry early.
      loader.update(viewport(20), phase: .rest, at: 0)
      #expect(loader.next() == nil)
      clock.advance(0.5)
    }
    loadAll(loader)
    #expect(loader.tile(tile(20)) == 20 && loader.retryDelay == nil)
  }

  @Test func absentTileIsRequestedAgainAfterItsLifetime() throws {
    let cache = cache(100)
    let loader = loader(cache)
    loader.update(viewport(20), phase: .rest, at: 0)
    loader.finish(try #require(loader.next()), .absent)
    #expect(loader.next() == nil && loader.retryDelay == .seconds(30))
    // It leaves the screen and returns: the negative entry still holds.
    clock.advance(10)
    loader.update(viewport(40), phase: .rest, at: 1)
    loadAll(loader)
    #expect(loader.update(viewport(20), phase: .rest, at: 2).hits == [tile(20)])
    #expect(loader.next() == nil && loader.retryDelay == .seconds(20))
    clock.advance(20)
    loadAll(loader)
    #expect(loader.tile(tile(20)) == 20)
  }

  /// A tile that another map loads is shared, also where the load fails there or finds no room.
  @Test(arguments: [true, false]) func twoMapsShareALoad(fails: Bool) throws {
    let cache = cache(fails ? 100 : 0)
    let (first, second) = (loader(cache, screen: 1), loader(cache, screen: 2))
    for loader in [first, second] { loader.update(viewport(20), phase: .rest, at: 0) }
    let load = try #require(first.next())
    #expect(second.next() == nil && cache.statistics.joined == 1)
    if fails {
      first.finish(load, .failed(Refused()))
      clock.advance(1)
      loadAll(second)
      #expect(second.tile(tile(20)) == 20)
    } else {
      first.finish(load, .tile(20, byteCount: cost))
      #expect(first.tile(tile(20)) == 20 && second.tile(tile(20)) == 20)
    }
  }

  @Test func jumpCancelsUnneededLoads() throws {
    let loader = loader(cache(100), loadsMax: 1)
    loader.update(viewport(20), phase: .rest, at: 0)
    let old = try #require(loader.next())
    loader.update(viewport(90), phase: .rest, at: 1)
    #expect(old.isCancelled && loader.next() == nil)
    // It may return before the load has noticed its cancellation.
    loader.update(viewport(20), phase: .rest, at: 2)
    #expect(loader.next() == nil)
    loader.finish(old, .failed(CancellationError()))
    #expect(loader.next()?.key == tile(20))
  }

  @Test func heldTilesKeepTheirMeasuredCost() throws {
    let cache = cache(1)
    let loader = loader(cache)
    loader.update(viewport(20), phase: .rest, at: 0)
    loader.finish(try #require(loader.next()), .tile(20, byteCount: 3 * cost))
    #expect(loader.tile(tile(20)) == 20 && cache.statistics.bytes == 0)
    loader.update(viewport(90), phase: .rest, at: 1)
    #expect(!cache.contains(tile(20)), "it costs three times what there is")
  }

  /// The example in the documentation of ``MemoryPressureMonitor``.
  @Test func memoryPressurePausesPrefetchAndShrinksTheCache() async throws {
    let cache = cache(40)
    let loader = loader(cache, plan: (30..<50).map { tile($0) })
    loader.update(viewport(20), phase: .rest, at: 0)
    loadAll(loader)
    #expect(cache.statistics.unusedBytes > 0)
    let monitor = MemoryPressureMonitor(Readings())
    for await level in monitor.levels() {
      loader.adjust(to: level)
      if level == .critical { break }
      monitor.look()
    }
    #expect(loader.isPaused && cache.byteCountMax == 10 * cost)
    #expect(cache.contains(tile(20)) && cache.statistics.entries == 1 && cache.statistics.trims > 0)
    loader.update(viewport(20), phase: .rest, at: 1)
    #expect(loader.next() == nil)
    loader.adjust(to: .normal)
    #expect(loader.next() != nil && cache.byteCountMax == 40 * cost)
  }
}

/// Readings of a machine that is short of memory.
private struct Readings: PressureReadings {
  func readings() -> [PressureReading] { [PressureReading(.machine, used: 0.95)] }
}
