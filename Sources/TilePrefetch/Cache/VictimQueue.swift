/// The tiles that go next.
///
/// Ranking all n tiles takes O(n log n) and serves for n / 16 evictions, or until a map has moved and n / 64 are gone: O(log n) for each, amortised. For LRU this is exact:
/// what is used or kept in between is younger than the ones chosen.
struct VictimQueue {
  struct Candidate {
    let tile: KeptEntry
    let rank: Double
    let stamp: UInt64
  }

  /// The one to go first is the last.
  private var queue: [Candidate] = []
  private var takenCount = 0

  mutating func mapMoved(tileCount: Int) {
    if takenCount * 64 >= tileCount { queue = [] }
  }

  /// The next tile to go, on no screen and not used since it was chosen; nil when there is none that ranks above the bound.
  mutating func next(
    of tiles: [KeptEntry], eviction: any EvictionPolicy, focuses: [MapFocus], onlyUnused: Bool, above bound: Double
  ) -> KeptEntry? {
    if onlyUnused {
      // Ranked among their own kind: there are few of them, and they are all about as old.
      let unused = tiles.filter { $0.pinCount == 0 && $0.isUnused }
      guard let first = Self.rank(unused, eviction, focuses).first, first.rank > bound else { return nil }
      return first.tile
    }
    if eviction.isExact { return Self.first(of: tiles, eviction, focuses, above: bound) }
    var hasRanked = false
    while true {
      while let candidate = queue.last {
        let tile = candidate.tile
        guard tile.place >= 0, tile.pinCount == 0, tile.stamp == candidate.stamp else {
          queue.removeLast()
          continue
        }
        guard candidate.rank > bound else { return nil }
        queue.removeLast()
        takenCount += 1
        return tile
      }
      guard !hasRanked else { return nil }
      hasRanked = true
      takenCount = 0
      let ranked = Self.rank(tiles.filter { $0.pinCount == 0 }, eviction, focuses)
      queue = ranked.prefix(max(ranked.count / 16, 1)).reversed()
    }
  }

  /// The tile that ranks highest of all, ages aside. O(n).
  private static func first(
    of tiles: [KeptEntry], _ eviction: any EvictionPolicy, _ focuses: [MapFocus], above bound: Double
  ) -> KeptEntry? {
    var highest = bound
    var first: KeptEntry?
    for tile in tiles where tile.pinCount == 0 {
      let rank = eviction.rank(of: tile.tile, age: 0, focuses: focuses)
      if rank > highest { (highest, first) = (rank, tile) }
    }
    return first
  }

  /// The tiles in the order in which they are to go. O(n log n).
  static func rank(_ tiles: [KeptEntry], _ eviction: any EvictionPolicy, _ focuses: [MapFocus]) -> [Candidate] {
    let youngestFirst = tiles.indices.map { (stamp: tiles[$0].stamp, index: $0) }.sorted { $0.stamp > $1.stamp }
    let count = Double(max(youngestFirst.count, 1))
    let ranks = youngestFirst.enumerated().map { age, entry in
      (eviction.rank(of: tiles[entry.index].tile, age: Double(age) / count, focuses: focuses), entry.stamp, entry.index)
    }
    return ranks.sorted { $0.0 > $1.0 }.map { Candidate(tile: tiles[$0.2], rank: $0.0, stamp: $0.1) }
  }
}
