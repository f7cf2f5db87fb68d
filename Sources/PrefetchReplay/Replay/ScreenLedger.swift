import TileIndex
import TilePrefetch

/// Counts what a user of the replay would have seen missing.
struct ScreenLedger {
  private var score = ReplayScore()
  /// Since which frame a tile on the screen is missing.
  private var missingSince: [TileID: Int] = [:]
  private var hard: Set<TileID> = []
  private var stalledSince: Int?

  /// Books what a frame changed on the screen.
  mutating func take(
    _ step: MapLoader<ReplayTile>.Step, at tick: Int, _ cache: TileCache<TileID, ReplayTile>, _ tiles: any ReplayTiles
  ) {
    for tile in step.left { end(tile, at: tick) }
    for tile in step.hits {
      // What the source does not have is no hit either.
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

  /// An ancestor or all children can be drawn instead.
  private static func hasStandIn(_ tile: TileID, _ cache: TileCache<TileID, ReplayTile>) -> Bool {
    for zooms in 1...5 where tile.zoom >= zooms {
      let ancestor = TileID(unchecked: tile.zoom - zooms, tile.column >> zooms, tile.row >> zooms)
      if cache.contains(ancestor) { return true }
    }
    return tile.children.allSatisfy { cache.contains($0) }
  }

  /// A load is over, whatever came of it.
  mutating func finished(_ tile: TileID, at tick: Int) {
    end(tile, at: tick)
    settle(at: tick)
  }

  /// A tile came or left the screen: from this frame on it is not missing any more.
  private mutating func end(_ tile: TileID, at tick: Int) {
    guard let since = missingSince.removeValue(forKey: tile) else { return }
    let frames = max(0, tick - since)
    score.blankTileFrames += frames
    if hard.remove(tile) != nil { score.hardBlanks += frames }
  }

  /// To be called when the tiles of a frame are settled, or a tile came.
  private mutating func settle(at tick: Int) {
    if missingSince.isEmpty {
      if let since = stalledSince { score.stallFrames += max(0, tick - since) }
      stalledSince = nil
    } else if stalledSince == nil {
      stalledSince = tick
    }
  }

  var isMissingAny: Bool { !missingSince.isEmpty }

  /// What it all came to.
  ///
  /// - Parameter preloaded: tiles that were loaded before the session began.
  func score(_ statistics: CacheStatistics, preloaded: Int) -> ReplayScore {
    var score = score
    score.prefetches = statistics.prefetches
    score.prefetchesUsed = statistics.prefetchesUsed
    score.loads = statistics.prefetches + statistics.misses - preloaded
    score.bytesPeak = statistics.bytesPeak
    return score
  }
}
