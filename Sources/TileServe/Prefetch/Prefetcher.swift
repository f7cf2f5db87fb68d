import Support
import Synchronization
import TileIndex
import TilePrefetch

/// Renders and fetches tiles before clients request them.
///
/// 1. Event loops and workers report requests (``note(_:)``), which costs them a lock and an entry in a list.
/// 2. A thread updates each client's map (``ClientView``), tells the cache which tiles are on its screen, and plans
///    (``ClientPlan``).
/// 3. Planned tiles queue in the tileset's lane behind all requests. A tile that is no longer useful when a thread
///    takes it is dropped.
final class Prefetcher: Sendable {
  typealias Mode = TileServerOptions.Prefetch

  /// Counters for the metrics.
  struct Statistics: Hashable, Sendable {
    /// Tiles that were prefetched.
    var issued = 0
    /// Of these, how many were requested later.
    var used = 0
    /// Tiles that were planned and then dropped: no longer needed, or delaying requests.
    var dropped = 0
    /// Bytes of prefetched tiles.
    var bytes = 0
    /// Maps that are tracked.
    var maps = 0
  }

  /// One client's map.
  private struct Session {
    var view: ClientView
    /// The cache's number for its screen.
    let screen: Int
    /// The tiles planned now, and those of them that wait in a lane.
    var wanted: Set<TileID> = []
    var queued: Set<TileID> = []
    /// Tiles that were prefetched and not requested yet.
    var ahead: Set<TileID> = []
  }

  private struct State {
    var sessions: [PrefetchRequest.Map: Session] = [:]
    var nextScreen = 1
    var isPaused = false
    var statistics = Statistics()
  }

  /// Maps that are tracked at a time; a new one replaces the one that was idle longest. Every screen is considered in
  /// every eviction.
  static let mapCountMax = 32
  /// A map without requests for this long is no longer tracked.
  static let mapSeconds = 120.0
  /// Tiles that are planned at a time.
  static let planCountMax = 32
  /// Requests that may wait to be processed; further ones are ignored.
  private static let inboxCountMax = 256
  /// Prefetched tiles of a map that are tracked until they are requested; beyond that only those that are still
  /// planned.
  private static let aheadCountMax = 512
  /// How often rendering a tile is tried again after what it lacks was fetched: the tile, then its ancestors one after
  /// the other.
  private static let roundsMax = 4

  let mode: Mode
  private let resolver: TileResolver
  private let work: WorkPool
  private let lane: WorkPool.Lane
  private let coreCount: Int
  private let inbox = Mutex<[PrefetchRequest]>([])
  private let state = Mutex(State())

  init(_ mode: Mode, _ resolver: TileResolver, _ work: WorkPool, coreCount: Int) {
    (self.mode, self.resolver, self.work, self.coreCount) = (mode, resolver, work, coreCount)
    lane = work.lane(device: .max - 2)
  }

  var statistics: Statistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.maps = state.sessions.count
      return statistics
    }
  }

  /// While paused nothing is prefetched, and queued work is dropped.
  func setPaused(_ isPaused: Bool) { state.withLock { $0.isPaused = isPaused } }

  /// Notes a request. Never blocks.
  func note(_ request: PrefetchRequest) {
    guard mode != .off else { return }
    let isFirst = inbox.withLock { inbox in
      guard inbox.count < Self.inboxCountMax else { return false }
      inbox.append(request)
      return inbox.count == 1
    }
    if isFirst, !work.submit(lane, { self.readInbox() }) { inbox.withLock { $0 = [] } }
  }

  /// Updates the maps of the noted requests, and plans for each.
  func readInbox() {
    let requests = inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
    let now = MonotonicClock.seconds
    forgetQuiet(at: now)
    var last: [PrefetchRequest.Map: PrefetchRequest] = [:]
    for request in requests {
      let map = request.map
      last[map] = request
      follow(request, map, at: now)
    }
    for (map, request) in last { plan(request, map, at: now) }
  }

  private func follow(_ request: PrefetchRequest, _ map: PrefetchRequest.Map, at now: Double) {
    let gone = state.withLock { state -> [Int] in
      if state.sessions[map] != nil {
        state.sessions[map]!.view.note(request.tile, at: now)
        if state.sessions[map]!.ahead.remove(request.tile) != nil { state.statistics.used += 1 }
        return []
      }
      var screens: [Int] = []
      if state.sessions.count >= Self.mapCountMax,
        let quietest = state.sessions.min(by: { $0.value.view.lastSeen < $1.value.view.lastSeen })
      {
        state.sessions[quietest.key] = nil
        screens = [quietest.value.screen]
      }
      state.sessions[map] = Session(view: ClientView(request.tile, at: now), screen: state.nextScreen)
      state.nextScreen += 1
      return screens
    }
    for screen in gone { resolver.cache.hide(screen: screen) }
  }

  /// Removes maps without recent requests, so that their tiles may be evicted.
  ///
  /// - Parameter now: of ``MonotonicClock``.
  func forgetQuiet(at now: Double) {
    let screens = state.withLock { state in
      let quiet = state.sessions.filter { now - $0.value.view.lastSeen > Self.mapSeconds }
      for map in quiet.keys { state.sessions[map] = nil }
      return quiet.values.map(\.screen)
    }
    for screen in screens { resolver.cache.hide(screen: screen) }
  }

  private func plan(_ request: PrefetchRequest, _ map: PrefetchRequest.Map, at now: Double) {
    guard let info = request.layers[0].knownInfo, let (view, screen) = view(of: map) else { return }
    // Beyond the deepest zoom tiles are enlarged; a further zoom is not predicted.
    let deepest = max(info.zooms.upperBound, view.visible.zoom)
    let tiles = ClientPlan.tiles(
      view, at: now, countMax: Self.planCountMax, grid: info.matrixSet,
      zooms: min(info.zooms.lowerBound, deepest)...deepest
    ).filter { info.matrixSet.geographicBounds(of: $0).intersection(info.bounds) != nil }
    let revisions = request.layers.map(\.revision)
    resolver.cache.show(
      view.visible.map { resolver.key(request.query($0), revisions) },
      focus: MapFocus(
        around: view.visible, wanted: Dictionary(uniqueKeysWithValues: tiles.enumerated().map { ($1, $0) })),
      in: screen)
    let new = state.withLock { state -> [TileID] in
      guard state.sessions[map] != nil, !state.isPaused else { return [] }
      state.sessions[map]!.wanted = Set(tiles)
      let new = tiles.filter { tile in
        (mode == .on || request.takesTime(tile, info)) && state.sessions[map]!.queued.insert(tile).inserted
      }
      return new
    }
    for tile in new {
      let accepted = work.submit(request.layers.slowest.lane, urgency: .later) { self.fetch(tile, request, map, info) }
      if !accepted { drop(tile, map) }
    }
  }

  private func view(of map: PrefetchRequest.Map) -> (ClientView, Int)? {
    state.withLock { state in state.sessions[map].map { ($0.view, $0.screen) } }
  }

  private func drop(_ tile: TileID, _ map: PrefetchRequest.Map) {
    state.withLock { state in
      state.statistics.dropped += 1
      state.sessions[map]?.queued.remove(tile)
    }
  }

  /// Fetches or renders one planned tile, on a thread of its tileset's lane.
  private func fetch(_ tile: TileID, _ request: PrefetchRequest, _ map: PrefetchRequest.Map, _ info: TilesetInfo) {
    let isWanted = state.withLock { state in
      !state.isPaused && state.sessions[map]?.wanted.contains(tile) == true
    }
    // Rendering takes a core; requests take priority over prefetching.
    let isFetched = request.layers.contains { $0.source.fetchesAhead }
    guard isWanted, isFetched || work.urgentCount < coreCount else { return drop(tile, map) }
    var bytes = 0
    let isDone: Bool
    if isFetched, !request.needsDrawing(tile, info) {
      isDone = fetch(request.layers.map { ($0, tile) }, &bytes)
    } else {
      isDone = draw(tile, request, &bytes)
    }
    if !isDone { drop(tile, map) }
    state.withLock { state in
      state.statistics.bytes += bytes
      state.sessions[map]?.queued.remove(tile)
      guard isDone, bytes > 0 else { return }
      state.statistics.issued += 1
      guard var ahead = state.sessions[map]?.ahead else { return }
      ahead.insert(tile)
      if ahead.count > Self.aheadCountMax { ahead.formIntersection(state.sessions[map]!.wanted) }
      state.sessions[map]!.ahead = ahead
    }
  }

  /// Renders a tile from local tiles; missing ones are fetched as far as the upstream's limits allow.
  ///
  /// - Parameter bytes: grows by what was fetched and rendered.
  /// - Returns: false if that fails or is not allowed. A later request reports the error.
  private func draw(_ tile: TileID, _ request: PrefetchRequest, _ bytes: inout Int) -> Bool {
    for _ in 0..<Self.roundsMax {
      let sources = request.layers.map(KnownTiles.init)
      // A tileset whose threads are busy is not waited for.
      let drawn = Result { try ReadingSlots.puttingAside { try resolver.prefetch(request.query(tile, from: sources)) } }
      let lacking = sources.flatMap { source in source.lacking.map { (source.tileset, $0) } }
      guard lacking.isEmpty else {
        guard fetch(lacking, &bytes) else { return false }
        continue
      }
      guard case .success(let count) = drawn else { return false }
      bytes += count ?? 0
      return true
    }
    return false
  }

  private func fetch(_ tiles: [(tileset: Tileset, tile: TileID)], _ bytes: inout Int) -> Bool {
    for (tileset, tile) in tiles {
      guard let count = try? tileset.source.fetchAhead(tile) else { return false }
      bytes += count
    }
    return true
  }
}
