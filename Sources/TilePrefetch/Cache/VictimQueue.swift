/// The tiles that go next.
///
/// Ranking all n tiles takes O(n log n) and serves for n / 16 evictions, or until a map has moved and n / 64 are gone: O(log n) for each, amortised. What was used since it was chosen stays,
/// and what was wanted since is not among the chosen: so it is the order of the moment of ranking that holds. By age that is exact but for tiles whose last use fell between the same two changes of
/// the cache, which count as equally old: hits move no clock.
struct VictimQueue {
  struct Candidate {
    let tile: KeptEntry
    let rank: Double
    let stamp: UInt64
  }

  /// The tiles that may go, ranked among themselves.
  private struct Ranking {
    /// The one to go first is the last.
    var queue: [Candidate] = []
    var takenCount = 0

    mutating func mapMoved(tileCount: Int) {
      if takenCount * 64 >= tileCount { queue = [] }
    }

    /// Takes in a tile that has come since, where it would go before one of the chosen.
    ///
    /// - Complexity: O(log n), and moving what goes before it.
    mutating func insert(_ candidate: Candidate) {
      guard let lowest = queue.first, candidate.rank > lowest.rank else { return }
      var (low, high) = (0, queue.count)
      while low < high {
        let middle = (low + high) / 2
        if queue[middle].rank < candidate.rank { low = middle + 1 } else { high = middle }
      }
      queue.insert(candidate, at: low)
    }

    /// - Parameter candidates: the tiles to rank anew when none of the chosen is left.
    mutating func next(
      above bound: Double, mayGo: (KeptEntry) -> Bool, _ candidates: () -> [Candidate]
    ) -> KeptEntry? {
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
  /// Those that were loaded ahead of need and not wanted yet: among their own kind, all about as old.
  private var unused = Ranking()

  mutating func mapMoved(tileCount: Int) {
    all.mapMoved(tileCount: tileCount)
    unused.mapMoved(tileCount: tileCount)
  }

  /// A tile was loaded ahead of need: it may be the next of its kind to go.
  mutating func keptAhead(_ tile: KeptEntry, eviction: any EvictionPolicy, focuses: [MapFocus]) {
    let rank = eviction.rank(of: tile.tile, age: 0, focuses: focuses)
    unused.insert(Candidate(tile: tile, rank: rank, stamp: tile.stamp))
  }

  /// The next tile to go, on no screen and not used since it was chosen; nil when there is none that ranks above the bound.
  mutating func next(
    of tiles: [KeptEntry], eviction: any EvictionPolicy, focuses: [MapFocus], onlyUnused: Bool, above bound: Double
  ) -> KeptEntry? {
    if onlyUnused {
      func mayGo(_ tile: KeptEntry) -> Bool { tile.pinCount == 0 && tile.isUnused }
      return unused.next(above: bound, mayGo: mayGo) { Self.rank(tiles.filter(mayGo), eviction, focuses) }
    }
    if eviction.isExact { return Self.first(of: tiles, eviction, focuses, above: bound) }
    func mayGo(_ tile: KeptEntry) -> Bool { tile.pinCount == 0 }
    return all.next(above: bound, mayGo: mayGo) { Self.rank(tiles.filter(mayGo), eviction, focuses) }
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
