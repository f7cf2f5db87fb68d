import Foundation
import Synchronization
import TileIndex
import TilePrefetch

/// Benchmarks of the tile cache.
///
///     CacheBench                             the cost of a hit
///     CacheBench bundle [FILE]               a tile of a bundle, from one task and from several
///     CacheBench warning                     what a memory warning gives back, and how long that takes
///     CacheBench day [GESTURES]              a day of a generated user, in virtual time
///     CacheBench memory BUDGET OPERATIONS    random operations on real buffers, and the peak of the process's memory
@main
enum CacheBench {
  static func main() async {
    switch CommandLine.arguments.dropFirst().first {
    case nil: HitTrial.run()
    case "bundle": await BundleTrial.run(CommandLine.arguments.dropFirst(2).first)
    case "warning": WarningTrial.run()
    case "day": DayTrial.run(gestures: CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 23_000)
    default: MemoryTrial.run(Array(CommandLine.arguments.dropFirst()))
    }
  }
}

/// Measures the cost of a hit on one and on two threads, compared with the simplest cache: a dictionary behind one
/// lock.
enum HitTrial {
  static func run() {
    let tiles = (0..<256).map { TileID(unchecked: 12, 2000 + $0 % 16, 1400 + $0 / 16) }
    let cache = TileCache<TileID, Int>(byteCountMax: 256 << 18)
    for tile in tiles { cache.insert(tile.column, for: tile, byteCount: 1 << 18) }
    let plain = PlainCache(Dictionary(uniqueKeysWithValues: tiles.map { ($0, $0.column) }))
    print("nanoseconds of a thread a hit, best of 5  1 thread  2 threads")
    report("TileCache", tiles) { cache.value(for: $0) ?? 0 }
    report("dictionary behind one lock", tiles) { tile in plain.tiles.withLock { $0[tile] ?? 0 } }
  }

  private static func report(_ name: String, _ tiles: [TileID], _ hit: @escaping @Sendable (TileID) -> Int) {
    let times = [1, 2].map { threads in (0..<5).map { _ in measure(threads, tiles, hit) }.min() ?? 0 }
    let padded = name.padding(toLength: 40, withPad: " ", startingAt: 0)
    print(padded, String(format: "%8.1f %10.1f", times[0], times[1]))
  }

  /// Nanoseconds per hit and thread, in processor time, so that other processes do not count.
  private static func measure(
    _ threads: Int, _ tiles: [TileID], count: Int = 4_000_000, _ hit: @escaping @Sendable (TileID) -> Int
  ) -> Double {
    let group = DispatchGroup()
    let nanoseconds = Mutex(0.0)
    for thread in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        let start = runTime()
        var sum = 0
        var index = thread * 97
        for _ in 0..<count {
          index = (index &+ 13) & 255
          sum &+= hit(tiles[index])
        }
        precondition(sum != 0)
        let time = runTime() - start
        nanoseconds.withLock { $0 += time }
        group.leave()
      }
    }
    group.wait()
    return nanoseconds.withLock { $0 } / Double(count * threads)
  }

  /// The processor time of this thread in nanoseconds.
  private static func runTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

private final class PlainCache: Sendable {
  let tiles: Mutex<[TileID: Int]>
  init(_ tiles: [TileID: Int]) { self.tiles = Mutex(tiles) }
}
