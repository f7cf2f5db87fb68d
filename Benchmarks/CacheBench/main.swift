import Foundation
import Synchronization
import TileIndex
import TilePrefetch

// What a hit costs: in the cache, on one and on two threads, beside a dictionary behind one lock, which is the simplest cache there can be.

let tiles = (0..<256).map { TileID(unchecked: 12, 2000 + $0 % 16, 1400 + $0 / 16) }
let cache = TileCache<TileID, Int>(byteCountMax: 256 << 18)
for tile in tiles { cache.insert(tile.column, for: tile, byteCount: 1 << 18) }

final class PlainCache: Sendable {
  let tiles: Mutex<[TileID: Int]>
  init(_ tiles: [TileID: Int]) { self.tiles = Mutex(tiles) }
}
let plain = PlainCache(Dictionary(uniqueKeysWithValues: tiles.map { ($0, $0.column) }))

/// Nanoseconds a hit on so many threads: the time that passes, divided by the hits of all of them.
func measure(threads: Int, count: Int = 4_000_000, _ hit: @escaping @Sendable (TileID) -> Int) -> Double {
  let group = DispatchGroup()
  let start = ContinuousClock.now
  for thread in 0..<threads {
    group.enter()
    Thread.detachNewThread {
      var sum = 0
      var index = thread * 97
      for _ in 0..<count {
        index = (index &+ 13) & 255
        sum &+= hit(tiles[index])
      }
      precondition(sum != 0)
      group.leave()
    }
  }
  group.wait()
  let time = ContinuousClock.now - start
  return (Double(time.components.seconds) * 1e9 + Double(time.components.attoseconds) * 1e-9) / Double(count * threads)
}

func best(_ threads: Int, _ hit: @escaping @Sendable (TileID) -> Int) -> Double {
  (0..<5).map { _ in measure(threads: threads, hit) }.min() ?? 0
}

let cacheHit: @Sendable (TileID) -> Int = { cache.value(for: $0) ?? 0 }
let plainHit: @Sendable (TileID) -> Int = { tile in plain.tiles.withLock { $0[tile] ?? 0 } }
print("nanoseconds a hit, best of five          1 thread  2 threads")
for (name, hit) in [("TileCache", cacheHit), ("dictionary behind one lock", plainHit)] {
  let (one, two) = (best(1, hit), best(2, hit))
  print(
    "\(name.padding(toLength: 40, withPad: " ", startingAt: 0)) \(String(format: "%8.1f %10.1f", one, two))")
}
