/// The next tiles to evict.
///
/// Ranking all n tiles takes O(n log n). One ranking serves for n / 16 evictions, or until a map has moved and n / 64
/// tiles are gone: O(log n) each, amortised. Candidates that were used since the ranking are skipped, and tiles that
/// became candidates since are missing, so the order is that of the moment of ranking. By age it is exact, except that
/// tiles whose last uses fell between the same two changes of the cache count as equally old: hits do not advance the
/// clock.
struct VictimQueue {
  struct Candidate {
    let tile: CachedEntry
    let rank: Double
    let stamp: UInt64
  }

  /// A ranking of the tiles that may be evicted.
  private struct Ranking {
    /// The next tile is the last element.
    var queue: [Candidate] = []
    var takenCount = 0

    mutating func mapMoved(tileCount: Int) {
      // More candidates than tiles: most of them were used or evicted meanwhile.
      if takenCount * 64 >= tileCount || queue.count > tileCount { queue = [] }
    }

    /// Inserts a tile that arrived after the ranking, if it would be evicted before one of the candidates.
    ///
    /// - Complexity: O(log n), plus moving the elements behind it.
    mutating func insert(_ candidate: Candidate) {
      guard let lowest = queue.first, candidate.rank > lowest.rank else { return }
      var (low, high) = (0, queue.count)
      while low < high {
        let middle = (low + high) / 2
        if queue[middle].rank < candidate.rank { low = middle + 1 } else { high = middle }
      }
      queue.insert(candidate, at: low)
    }

    /// - Parameter candidates: the tiles to rank when no candidate is left.
    mutating func next(
      above bound: Double, mayGo: (CachedEntry) -> Bool, _ candidates: () -> [Candidate]
    ) -> CachedEntry? {
      var hasRanked = false
      while true {
        while let candidate = queue.last {
          let tile = candidate.tile
          guard tile.place >= 0, mayGo(tile), tile.stamp == candidate.stamp else {
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
        let ranked = candidates()
        queue = ranked.prefix(max(ranked.count / 16, 1)).reversed()
      }
    }
  }

  private var all = Ranking()
  /// Prefetched tiles that have not been used yet, ranked among themselves. They are all about as old.
  private var unused = Ranking()

  mutating func mapMoved(tileCount: Int) {
    all.mapMoved(tileCount: tileCount)
    unused.mapMoved(tileCount: tileCount)
  }

  /// Adds a prefetched tile, which may be the next of its kind to evict.
  mutating func keptAhead(_ tile: CachedEntry, eviction: any EvictionPolicy, focuses: [MapFocus]) {
    let rank = eviction.rank(of: tile.tile, age: 0, focuses: focuses)
    unused.insert(Candidate(tile: tile, rank: rank, stamp: tile.stamp))
  }

  /// The next tile to evict: on no screen and not used since it was ranked. Nil when none ranks above the bound.
  mutating func next(
    of tiles: [CachedEntry], eviction: any EvictionPolicy, focuses: [MapFocus], onlyUnused: Bool, above bound: Double
  ) -> CachedEntry? {
    if onlyUnused {
      func mayGo(_ tile: CachedEntry) -> Bool { tile.pinCount == 0 && tile.isUnused }
      return unused.next(above: bound, mayGo: mayGo) { Self.rank(tiles.filter(mayGo), eviction, focuses) }
    }
    if eviction.isExact { return Self.first(of: tiles, eviction, focuses, above: bound) }
    func mayGo(_ tile: CachedEntry) -> Bool { tile.pinCount == 0 }
    return all.next(above: bound, mayGo: mayGo) { Self.rank(tiles.filter(mayGo), eviction, focuses) }
  }

  /// The tile with the highest rank, without ages. O(n).
  private static func first(
    of tiles: [CachedEntry], _ eviction: any EvictionPolicy, _ focuses: [MapFocus], above bound: Double
  ) -> CachedEntry? {
    var highest = bound
    var first: CachedEntry?
    for tile in tiles where tile.pinCount == 0 {
      let rank = eviction.rank(of: tile.tile, age: 0, focuses: focuses)
      if rank > highest { (highest, first) = (rank, tile) }
    }
    return first
  }

  /// The tiles in the order of eviction. O(n log n).
  static func rank(_ tiles: [CachedEntry], _ eviction: any EvictionPolicy, _ focuses: [MapFocus]) -> [Candidate] {
    let youngestFirst = tiles.indices.map { (stamp: tiles[$0].stamp, index: $0) }.sorted { $0.stamp > $1.stamp }
    let count = Double(max(youngestFirst.count, 1))
    let ranks = youngestFirst.enumerated().map { age, entry in
      (eviction.rank(of: tiles[entry.index].tile, age: Double(age) / count, focuses: focuses), entry.stamp, entry.index)
    }
    return ranks.sorted { $0.0 > $1.0 }.map { Candidate(tile: tiles[$0.2], rank: $0.0, stamp: $0.1) }
  }
}
