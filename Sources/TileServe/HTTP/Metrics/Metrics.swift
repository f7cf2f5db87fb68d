import MemoryPressure
import Synchronization
import TilePrefetch

/// The server's counters. Each event loop counts in its own shard; the shards are added up for `/metrics`.
final class Metrics: Sendable {
  /// Upper bounds of the latency histogram, in seconds.
  static let bounds: [Double] = [
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  /// One loop's counts.
  final class Shard: Sendable {
    let counts = Mutex(Counts())

    /// Counts an answered request.
    func record(_ route: RouteName, status: Int, bytes: Int, nanoseconds: UInt64) {
      counts.withLock { $0.record(route, status: status, bytes: bytes, nanoseconds: nanoseconds) }
    }

    func opened() {
      counts.withLock {
        $0.connections += 1
        $0.connectionsOpened += 1
      }
    }
    func closed() { counts.withLock { $0.connections -= 1 } }
    /// A connection that was closed by a limit: too slow, too large, or the oldest idle one when there were too many.
    func dropped() { counts.withLock { $0.connectionsDropped += 1 } }
  }

  /// The statuses that are counted separately; others count as the last.
  static let statuses = [200, 204, 304, 400, 404, 405, 413, 414, 417, 421, 431, 500, 501, 503, 0]

  struct Counts {
    /// By route and status, row-major.
    var requests = [Int](repeating: 0, count: RouteName.allCases.count * Metrics.statuses.count)
    var bytes = 0
    var buckets = [Int](repeating: 0, count: Metrics.bounds.count + 1)
    var nanoseconds: UInt64 = 0
    var connections = 0
    var connectionsOpened = 0
    var connectionsDropped = 0

    mutating func record(_ route: RouteName, status: Int, bytes: Int, nanoseconds: UInt64) {
      let column = Metrics.statuses.firstIndex(of: status) ?? Metrics.statuses.count - 1
      requests[route.index * Metrics.statuses.count + column] += 1
      self.bytes += bytes
      self.nanoseconds += nanoseconds
      let seconds = Double(nanoseconds) / 1e9
      buckets[Metrics.bounds.firstIndex { seconds <= $0 } ?? Metrics.bounds.count] += 1
    }

    mutating func add(_ other: Counts) {
      for index in requests.indices { requests[index] += other.requests[index] }
      bytes += other.bytes
      nanoseconds += other.nanoseconds
      for index in buckets.indices { buckets[index] += other.buckets[index] }
      connections += other.connections
      connectionsOpened += other.connectionsOpened
      connectionsDropped += other.connectionsDropped
    }
  }

  let cache: DrawnTileCache
  /// Bytes that the fast path's response cache takes.
  let readyBytes: @Sendable () -> Int
  let shards: [Shard]
  /// The level of memory pressure.
  let pressure = Atomic(PressureLevel.normal.rawValue)

  init(shardCount: Int, cache: DrawnTileCache, readyBytes: @escaping @Sendable () -> Int) {
    shards = (0..<shardCount).map { _ in Shard() }
    self.cache = cache
    self.readyBytes = readyBytes
  }

  var total: Counts {
    var total = Counts()
    for shard in shards { shard.counts.withLock { total.add($0) } }
    return total
  }
}
