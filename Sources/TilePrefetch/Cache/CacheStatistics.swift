/// What a cache has done since it was made, and what it holds.
public struct CacheStatistics: Hashable, Sendable {
  /// Tiles that were there.
  public var hits = 0
  /// Loads that were begun because a tile was wanted.
  public var misses = 0
  /// Wishes that joined a load under way; neither hits nor misses.
  public var joined = 0
  /// Wishes that were answered by a negative entry.
  public var absentHits = 0
  /// Loads that were begun ahead of need.
  public var prefetches = 0
  /// Of these, how many were wanted later, or while they were loading.
  public var prefetchesUsed = 0
  /// Prefetches that found no room.
  public var refusals = 0
  /// Loads that failed or were cancelled.
  public var failures = 0
  /// Tiles that were loaded and handed out, and not kept, because what is on the screen fills the budget.
  public var uncached = 0
  /// Tiles that made room for others.
  public var evictions = 0
  /// Tiles that went to give memory back: a smaller budget, ``TileCache/trim(to:keeping:)``, ``TileCache/dropUnused()``, memory pressure. What was replaced or removed is in neither.
  public var trims = 0
  /// Tiles kept.
  public var entries = 0
  /// Their cost.
  public var bytes = 0
  /// The cost that loads under way have reserved.
  public var reservedBytes = 0
  /// The cost of the kept tiles that are on a screen.
  public var pinnedBytes = 0
  /// The cost of the tiles that were loaded ahead of need and not wanted yet.
  public var unusedBytes = 0
  /// The most that ``bytes`` and ``reservedBytes`` together have been.
  public var bytesPeak = 0

  public init() {}
}
