import Foundation
import Synchronization
import Testing
import TileIndex

@testable import TileServe

@Suite struct DrawnTileCacheTests {
  private static let revision = SourceRevision.next()

  private func key(_ column: Int) throws -> DrawnTileKey {
    DrawnTileKey(
      revisions: [Self.revision], policies: [.notFound], tile: try TileID(zoom: 10, column: column, row: 0), scale: 1,
      format: nil)
  }

  private func tile(_ count: Int) -> Tile { Tile(bytes: [UInt8](repeating: 7, count: count), format: .png) }

  /// Runs a body on several threads of its own and returns when all are through.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
      group.enter()
      let thread = Thread {
        body(index)
        group.leave()
      }
      thread.start()
    }
    group.wait()
  }

  @Test func aTileIsDrawnOnce() throws {
    let cache = DrawnTileCache(byteCountMax: 10_000)
    let key = try key(1)
    #expect(cache.tile(for: key) == nil)
    #expect(try cache.tile(for: key) { tile(100) } == tile(100))
    #expect(try cache.tile(for: key) { throw ServeError(.unavailable, "drawn again") } == tile(100))
    #expect(cache.tile(for: key) == tile(100))
    let statistics = cache.statistics
    #expect(statistics.hits == 2 && statistics.misses == 1 && statistics.entries == 1 && statistics.evictions == 0)
    #expect(statistics.bytes == 100 + key.byteCount)
  }

  @Test func theBudgetIsNeverExceeded() throws {
    let cache = DrawnTileCache(byteCountMax: 5_000)
    for column in 0..<100 {
      _ = try cache.tile(for: key(column)) { tile(10 + column * 20) }
      #expect(cache.statistics.bytes <= 5_000)
    }
    #expect(cache.statistics.evictions > 0)
    let entries = cache.statistics.entries
    #expect(try cache.tile(for: key(200)) { tile(5_000) } == tile(5_000))
    #expect(cache.statistics.entries == entries)
  }

  @Test func everyPartOfTheKeyCounts() throws {
    let key = try key(1)
    var others = [DrawnTileKey](repeating: key, count: 5)
    others[0].revisions = [.next()]
    others[1].policies = [.overzoom]
    others[2].scale = 2
    others[3].format = .png
    others[4].tile = try TileID(zoom: 10, column: 1, row: 1)
    #expect(Set(others + [key]).count == 6)
  }

  @Test func threadsThatWantTheSameTileWaitForOneDrawing() throws {
    let cache = DrawnTileCache(byteCountMax: 0)
    let key = try key(1)
    let draws = Atomic(0)
    let received = Mutex<[Tile]>([])
    onThreads(8) { _ in
      let tile = try? cache.tile(for: key) {
        draws.wrappingAdd(1, ordering: .relaxed)
        // The other seven are waiting, or this waits for them.
        while cache.statistics.joined < 7 { usleep(500) }
        return Tile(bytes: [1, 2, 3], format: .png)
      }
      if let tile { received.withLock { $0.append(tile) } }
    }
    #expect(draws.load(ordering: .relaxed) == 1)
    #expect(received.withLock { $0 } == Array(repeating: Tile(bytes: [1, 2, 3], format: .png), count: 8))
    #expect(cache.statistics.misses == 1 && cache.statistics.joined == 7 && cache.statistics.hits == 0)
  }

  @Test func everyWaitingThreadGetsTheError() throws {
    let cache = DrawnTileCache(byteCountMax: 10_000)
    let key = try key(1)
    let failure = ServeError(.damagedTile, "tile 10/1/0 of sea is damaged")
    let received = Mutex<[ServeError]>([])
    onThreads(5) { _ in
      do {
        _ = try cache.tile(for: key) {
          while cache.statistics.joined < 4 { usleep(500) }
          throw failure
        }
      } catch {
        received.withLock { $0.append(error as? ServeError ?? ServeError(.unavailable, "\(error)")) }
      }
    }
    #expect(received.withLock { $0 } == Array(repeating: failure, count: 5))
    // The failure is not kept.
    #expect(try cache.tile(for: key) { tile(3) } == tile(3))
  }

  @Test func threadsOnManyTilesAgree() throws {
    let cache = DrawnTileCache(byteCountMax: 8_000)
    let wrong = Atomic(0)
    onThreads(6) { thread in
      var number = thread
      for _ in 0..<2_000 {
        number = (number &* 1_103_515_245 &+ 12_345) & 0x7fff_ffff
        let column = number >> 8 & 63
        let found = try? cache.tile(for: self.key(column)) { self.tile(column * 5) }
        if found?.bytes.count != column * 5 { wrong.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    #expect(wrong.load(ordering: .relaxed) == 0)
    let statistics = cache.statistics
    #expect(statistics.hits + statistics.misses + statistics.joined == 12_000)
    #expect(statistics.bytes <= 8_000)
  }
}
