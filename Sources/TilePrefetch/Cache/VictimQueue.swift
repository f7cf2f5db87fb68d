import Synchronization

/// The tiles that go next.
///
/// Ranking all n tiles takes O(n log n) and serves for n / 16 evictions, or until a map has moved and n / 64 are gone: O(log n) for each, amortised. For LRU this is exact:
/// what is used or kept in between is younger than the ones chosen.
struct VictimQueue<Key: TileCacheKey, Value: Sendable> {
  typealias Tile = KeptTile<Key, Value>

  struct Candidate {
    let tile: Tile
    let rank: Double
    let lastUse: UInt64
  }

  /// The one to go first is the last.
  private var queue: [Candidate] = []
  private var takenCount = 0

  mutating func mapMoved(tileCount: Int) {
    if takenCount * 64 >= tileCount { queue = [] }
  }

  /// The next tile to go, on no screen and not used since it was chosen; nil when there is none that ranks above the bound.
  mutating func next(
    of tiles: [Tile], eviction: any EvictionPolicy, focuses: [Int: MapFocus], onlyUnused: Bool, above bound: Double
  ) -> (tile: Tile, rank: Double)? {
    if eviction.isExact { queue = [] }
    if onlyUnused { return nextUnused(of: tiles, eviction, Array(focuses.values), above: bound) }
    var hasRanked = false
    while true {
      while let candidate = queue.last {
        let tile = candidate.tile
        guard tile.place >= 0, tile.pinCount == 0, tile.lastUse.load(ordering: .relaxed) == candidate.lastUse else {
          queue.removeLast()
          continue
        }
        guard candidate.rank > bound else { return nil }
        queue.removeLast()
        takenCount += 1
        return (tile, candidate.rank)
      }
      guard !hasRanked else { return nil }
      hasRanked = true
      takenCount = 0
      let ranked = Self.rank(tiles.filter { $0.pinCount == 0 }, eviction, Array(focuses.values))
      queue = ranked.prefix(max(ranked.count / 16, 8)).reversed()
    }
  }

  private func nextUnused(
    of tiles: [Tile], _ eviction: any EvictionPolicy, _ focuses: [MapFocus], above bound: Double
  ) -> (tile: Tile, rank: Double)? {
    // Ranked among their own kind: there are few of them, and they are all about as old.
    let unused = tiles.filter { $0.pinCount == 0 && $0.isUnused.load(ordering: .relaxed) }
    guard let first = Self.rank(unused, eviction, focuses).first, first.rank > bound else { return nil }
    return (first.tile, first.rank)
  }

  /// The tiles in the order in which they are to go. O(n log n).
  static func rank(_ tiles: [Tile], _ eviction: any EvictionPolicy, _ focuses: [MapFocus]) -> [Candidate] {
    let youngestFirst = tiles.map { ($0, $0.lastUse.load(ordering: .relaxed)) }.sorted { $0.1 > $1.1 }
    let count = Double(max(youngestFirst.count, 1))
    var ranked: [Candidate] = []
    ranked.reserveCapacity(youngestFirst.count)
    for (index, (tile, lastUse)) in youngestFirst.enumerated() {
      let rank = eviction.rank(of: tile.key.tile, age: Double(index) / count, focuses: focuses)
      ranked.append(Candidate(tile: tile, rank: rank, lastUse: lastUse))
    }
    return ranked.sorted { $0.rank > $1.rank }
  }
}
