import TileIndex
import TilePrefetch

/// What eviction alone is worth: a session on the real cache, which has room for so many tiles off the screen. Missing tiles come at once, nothing is loaded ahead.
struct EvictionTrial {
  /// What goes first.
  enum Policy: String, CaseIterable, Hashable, Sendable {
    /// The least recently used.
    case lru
    /// The reference policy's choice.
    case reference
    /// This project's.
    case `default`
    /// What is needed last, or never again.
    case belady

    /// As the reference counts for its own two, tiles that were found stay in the room they had while they are on the screen; otherwise they leave it to others.
    fileprivate var countsFound: Bool { self == .lru || self == .reference }

    fileprivate func eviction(_ future: Future) -> any EvictionPolicy {
      switch self {
      case .lru: LRUEviction()
      case .reference: ReferenceEviction()
      case .default: DistanceEviction()
      case .belady: FutureEviction(future: future)
      }
    }
  }

  let frames: SessionFrames
  /// Tiles off the screen.
  let roomCount: Int

  /// - Returns: tiles that came onto the screen, and how many of them were there.
  func run(_ policy: Policy) -> (requests: Int, hits: Int) {
    let future = Future(frames)
    let cache = TileCache<TileID, Void>(byteCountMax: 0, eviction: policy.eviction(future))
    var visible: TileRange?
    /// Of the tiles on the screen, those that were there when they came.
    var found: Set<TileID> = []
    var (requests, hits) = (0, 0)
    for (index, frame) in frames.frames.enumerated() {
      let tiles = frame.viewport.tiles
      let focus = MapFocus(around: policy == .default ? frame.phase.target?.tiles ?? tiles : tiles)
      guard tiles != visible else {
        cache.refocus(focus)
        continue
      }
      future.frame(index)
      let entered = tiles.filter { tile in !(visible?.contains(tile) ?? false) }
      let present = entered.filter { cache.contains($0) }
      requests += entered.count
      hits += present.count
      found = found.filter { tiles.contains($0) }.union(present)
      visible = tiles
      cache.show(tiles, focus: focus)
      cache.resize(to: roomCount + tiles.count - (policy.countsFound ? min(found.count, roomCount) : 0))
      for tile in entered where !cache.contains(tile) { cache.insert((), for: tile, byteCount: 1) }
    }
    return (requests, hits)
  }
}
