/// Negative entries: tiles that the source does not have. Each expires after a while, and their number is bounded.
struct AbsentTiles<Key: Hashable> {
  let lifetime: Duration
  /// The oldest entries are dropped above this count: an entry takes about 100 bytes, which no budget counts.
  static var countMax: Int { 4096 }

  private var ends: [Key: Duration] = [:]
  /// Ordered by expiry. Entries that were removed or renewed are skipped.
  private var queue: [(key: Key, end: Duration)] = []
  private var first = 0

  init(lifetime: Duration) { self.lifetime = lifetime }

  var count: Int { ends.count }

  mutating func insert(_ key: Key, at now: Duration) {
    guard lifetime > .zero else { return }
    let end = now + lifetime
    ends[key] = end
    queue.append((key, end))
    while first < queue.count, queue[first].end <= now || ends.count > Self.countMax || isStale(queue[first]) {
      let oldest = queue[first]
      if ends[oldest.key] == oldest.end { ends[oldest.key] = nil }
      first += 1
    }
    if first > 64, first * 2 > queue.count {
      queue.removeFirst(first)
      first = 0
    }
  }

  /// True while the key's entry has not expired.
  mutating func contains(_ key: Key, at now: Duration) -> Bool { end(of: key, at: now) != nil }

  /// When the key's entry expires; nil when there is none.
  mutating func end(of key: Key, at now: Duration) -> Duration? {
    guard let end = ends[key] else { return nil }
    if end > now { return end }
    ends[key] = nil
    return nil
  }

  mutating func remove(_ key: Key) { ends[key] = nil }

  mutating func removeAll() {
    ends = [:]
    queue = []
    first = 0
  }

  private func isStale(_ entry: (key: Key, end: Duration)) -> Bool { ends[entry.key] != entry.end }
}
