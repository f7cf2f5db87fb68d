/// The tiles that a source was found not to have, each for a while, and not more of them than a bound.
struct AbsentTiles<Key: Hashable> {
  let lifetime: Duration
  /// The oldest go when there are more: a negative entry takes some 100 bytes, which no budget counts.
  static var countMax: Int { 4096 }

  private var ends: [Key: Duration] = [:]
  /// In the order of their ends; entries that were removed or renewed are skipped.
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

  /// True when the key's time is not over.
  mutating func contains(_ key: Key, at now: Duration) -> Bool { end(of: key, at: now) != nil }

  /// When the key's time is over; nil when it is.
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
