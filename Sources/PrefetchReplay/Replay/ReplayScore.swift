import TileIndex
import TilePrefetch

/// The result of a replay; for several sessions, the sum.
package struct ReplayScore: Hashable, Sendable {
  /// Tiles that came onto the screen.
  package var requests = 0
  /// Of these, those that were cached.
  package var hits = 0
  /// The sum over all frames of the tiles missing on the screen.
  package var blankTileFrames = 0
  /// Of these, those with neither an ancestor within five zooms nor all four children to draw instead.
  package var hardBlanks = 0
  /// Frames with at least one tile missing.
  package var stallFrames = 0
  /// Prefetch loads that were started.
  package var prefetches = 0
  /// Of these, those whose tile came onto the screen before it was evicted.
  package var prefetchesUsed = 0
  /// All loads.
  package var loads = 0
  /// Tiles that came onto the screen and that the bundle does not have. There is nothing to draw, so they count neither
  /// as requests nor as missing.
  package var absent = 0
  /// The highest sum of kept and reserved bytes.
  package var bytesPeak = 0

  package init() {}

  package var hitRate: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }
  /// Nil when nothing was prefetched.
  package var precision: Double? { prefetches == 0 ? nil : Double(prefetchesUsed) / Double(prefetches) }
  package var stallMilliseconds: Double { Double(stallFrames) * 1000 / 60 }

  /// The difference to an earlier score of the same session.
  package func since(_ earlier: ReplayScore) -> ReplayScore {
    var rest = self
    rest.requests -= earlier.requests
    rest.hits -= earlier.hits
    rest.blankTileFrames -= earlier.blankTileFrames
    rest.hardBlanks -= earlier.hardBlanks
    rest.stallFrames -= earlier.stallFrames
    rest.prefetches -= earlier.prefetches
    rest.prefetchesUsed -= earlier.prefetchesUsed
    rest.loads -= earlier.loads
    rest.absent -= earlier.absent
    return rest
  }

  package static func + (a: ReplayScore, b: ReplayScore) -> ReplayScore {
    var sum = a
    sum.requests += b.requests
    sum.hits += b.hits
    sum.blankTileFrames += b.blankTileFrames
    sum.hardBlanks += b.hardBlanks
    sum.stallFrames += b.stallFrames
    sum.prefetches += b.prefetches
    sum.prefetchesUsed += b.prefetchesUsed
    sum.loads += b.loads
    sum.absent += b.absent
    sum.bytesPeak = max(a.bytesPeak, b.bytesPeak)
    return sum
  }
}

/// Counts what a user would have seen missing.
struct ReplayScorer {
  private var score = ReplayScore()
  /// The frame from which on a tile on the screen is missing.
  private var missingSince: [TileID: Int] = [:]
  private var hard: Set<TileID> = []
  private var stalledSince: Int?

  /// Records what a frame changed on the screen.
  mutating func take(
    _ step: MapLoader<ReplayTile>.Step, at tick: Int, _ cache: TileCache<TileID, ReplayTile>, _ tiles: any ReplayTiles
  ) {
    for tile in step.left { end(tile, at: tick) }
    for tile in step.hits {
      // A tile that the source does not have is no hit.
      guard tiles.has(tile) else {
        score.absent += 1
        continue
      }
      score.requests += 1
      score.hits += 1
    }
    for tile in step.missing {
      guard tiles.has(tile) else {
        score.absent += 1
        continue
      }
      score.requests += 1
      missingSince[tile] = tick
      if !Self.hasStandIn(tile, cache) { hard.insert(tile) }
    }
    settle(at: tick)
  }

  /// True when an ancestor or all children can be drawn instead.
  private static func hasStandIn(_ tile: TileID, _ cache: TileCache<TileID, ReplayTile>) -> Bool {
    for zooms in 1...5 where tile.zoom >= zooms {
      let ancestor = TileID(unchecked: tile.zoom - zooms, tile.column >> zooms, tile.row >> zooms)
      if cache.contains(ancestor) { return true }
    }
    return tile.children.allSatisfy { cache.contains($0) }
  }

  /// Records the end of a load, whatever its outcome.
  mutating func finished(_ tile: TileID, at tick: Int) {
    end(tile, at: tick)
    settle(at: tick)
  }

  /// A tile arrived or left the screen: from this frame on it is not missing.
  private mutating func end(_ tile: TileID, at tick: Int) {
    guard let since = missingSince.removeValue(forKey: tile) else { return }
    let frames = max(0, tick - since)
    score.blankTileFrames += frames
    if hard.remove(tile) != nil { score.hardBlanks += frames }
  }

  /// Must be called when all tiles of a frame are recorded, and when a tile arrived.
  private mutating func settle(at tick: Int) {
    if missingSince.isEmpty {
      if let since = stalledSince { score.stallFrames += max(0, tick - since) }
      stalledSince = nil
    } else if stalledSince == nil {
      stalledSince = tick
    }
  }

  var isMissingAny: Bool { !missingSince.isEmpty }

  /// The score so far.
  ///
  /// - Parameter preloaded: the number of tiles that were loaded before the session began.
  func score(_ statistics: CacheStatistics, preloaded: Int) -> ReplayScore {
    var score = score
    score.prefetches = statistics.prefetches
    score.prefetchesUsed = statistics.prefetchesUsed
    score.loads = statistics.prefetches + statistics.misses - preloaded
    score.bytesPeak = statistics.bytesPeak
    return score
  }
}
