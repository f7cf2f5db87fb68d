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

    /// As the reference simulator counts for its own two: tiles that leave the screen push others out before it is seen which of those come onto it, and what was found goes on
    /// taking room while the screen shows it. This project's cache knows better on both counts; Belady's rule loses nothing by either.
    fileprivate var isReference: Bool { self == .lru || self == .reference }

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
    /// Of the tiles on the screen, those that were there when they came; for the reference's policies.
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
      if policy.isReference, let before = visible {
        let staying = before.filter { tiles.contains($0) }
        found = found.filter { tiles.contains($0) }
        cache.show(staying, focus: focus)
        cache.resize(to: max(staying.count, roomCount + staying.count - found.count))
      }
      let present = entered.filter { cache.contains($0) }
      requests += entered.count
      hits += present.count
      if policy.isReference { found.formUnion(present) }
      visible = tiles
      cache.show(tiles, focus: focus)
      cache.resize(to: max(tiles.count, roomCount + tiles.count - found.count))
      for tile in entered where !cache.contains(tile) { cache.insert((), for: tile, byteCount: 1) }
    }
    return (requests, hits)
  }
}
