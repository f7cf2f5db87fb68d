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

    fileprivate func eviction(_ future: Future) -> any EvictionPolicy {
      switch self {
      case .lru: LRUEviction()
      case .reference: ReferenceEviction()
      case .default: DistanceEviction()
      case .belady: FutureEviction(future: future)
      }
    }
  }

  /// When it is seen what room there is.
  enum Accounting: CaseIterable, Hashable, Sendable {
    /// As the reference simulator counts: tiles that leave the screen push others out before it is seen which of those come onto it, and what was found goes on taking room while the
    /// screen shows it.
    case simulator
    /// As the cache runs in an app: the screen's tiles are pinned first, and what is on the screen takes no room off it.
    case cache
  }

  let frames: SessionFrames
  /// Tiles off the screen.
  let roomCount: Int

  /// - Returns: tiles that came onto the screen, and how many of them were there.
  func run(_ policy: Policy, _ accounting: Accounting) -> (requests: Int, hits: Int) {
    let isSimulator = accounting == .simulator
    let future = Future(frames)
    let cache = TileCache<TileID, Void>(byteCountMax: 0, eviction: policy.eviction(future))
    var visible: TileRange?
    /// Of the tiles on the screen, those that were there when they came; in the simulator's accounting.
    var found: Set<TileID> = []
    var (requests, hits) = (0, 0)
    for (index, frame) in frames.frames.enumerated() {
      let tiles = frame.viewport.tiles
      let focus = MapFocus(around: policy == .default ? frame.phase.target?.tiles ?? tiles : tiles)
      guard tiles != visible else {
        cache.refocus(focus)
        continue
      }
      let entered = tiles.filter { tile in !(visible?.contains(tile) ?? false) }
      if isSimulator, let before = visible {
        let staying = before.filter { tiles.contains($0) }
        found = found.filter { tiles.contains($0) }
        cache.show(staying, focus: focus)
        cache.resize(to: max(staying.count, roomCount + staying.count - found.count))
      }
      // Not before: until now the tiles that come with this frame are still to come.
      future.frame(index)
      let present = entered.filter { cache.contains($0) }
      requests += entered.count
      hits += present.count
      if isSimulator { found.formUnion(present) }
      visible = tiles
      cache.show(tiles, focus: focus)
      cache.resize(to: max(tiles.count, roomCount + tiles.count - found.count))
      for tile in entered where !cache.contains(tile) { cache.insert((), for: tile, byteCount: 1) }
    }
    return (requests, hits)
  }
}
