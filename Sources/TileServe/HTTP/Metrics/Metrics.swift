import Synchronization

/// Counts what the server does. Each event loop counts in its own shard; they are added up when somebody asks.
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
    /// A connection that took more than its share: too slow, too large, or in the way when there was no room.
    func dropped() { counts.withLock { $0.connectionsDropped += 1 } }
  }

  struct Key: Hashable {
    var route: RouteName
    var status: Int
  }

  struct Counts {
    var requests: [Key: Int] = [:]
    var bytes = 0
    var buckets = [Int](repeating: 0, count: Metrics.bounds.count + 1)
    var nanoseconds: UInt64 = 0
    var connections = 0
    var connectionsOpened = 0
    var connectionsDropped = 0

    mutating func record(_ route: RouteName, status: Int, bytes: Int, nanoseconds: UInt64) {
      requests[Key(route: route, status: status), default: 0] += 1
      self.bytes += bytes
      self.nanoseconds += nanoseconds
      let seconds = Double(nanoseconds) / 1e9
      buckets[Metrics.bounds.firstIndex { seconds <= $0 } ?? Metrics.bounds.count] += 1
    }

    mutating func add(_ other: Counts) {
      requests.merge(other.requests, uniquingKeysWith: +)
      bytes += other.bytes
      nanoseconds += other.nanoseconds
      for index in buckets.indices { buckets[index] += other.buckets[index] }
      connections += other.connections
      connectionsOpened += other.connectionsOpened
      connectionsDropped += other.connectionsDropped
    }
  }

  let cache: DrawnTileCache
  let shards: [Shard]

  init(shardCount: Int, cache: DrawnTileCache) {
    shards = (0..<shardCount).map { _ in Shard() }
    self.cache = cache
  }

  var total: Counts {
    var total = Counts()
    for shard in shards { shard.counts.withLock { total.add($0) } }
    return total
  }
}
