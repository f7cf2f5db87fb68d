import Synchronization
package import TileIndex

/// Loads the tiles of one map on one screen: tells any number of loading threads what to load next.
///
/// 1. The app calls ``update(_:phase:at:point:replans:)`` for every frame in which the map moved.
/// 2. Each loading thread takes ``next()``, loads the tile, and calls ``finish(_:_:)``. Tiles on the screen always come
///    first. A planned tile that is no longer in the plan is never started.
/// 3. A thread that got nothing from ``next()`` sleeps until the map moves or a load ends, and no longer than
///    ``retryDelay``, so that failed tiles on the screen are tried again.
/// 4. The app draws ``tile(_:)``.
///
/// Tiles on the screen that do not fit the cache's budget are held here, outside of the budget, until they leave the
/// screen: at most one screen. A `MapSession` holds none: it chooses tiles that fit.
package final class MapLoader<Value: Sendable>: Sendable {
  /// A load of one tile.
  package typealias Load = TileLoad<TileID, Value>

  /// The properties of a loader's source.
  package struct Source: Hashable, Sendable {
    /// How many parallel loads are useful.
    package var loadsMax: Int
    /// How many of these may be prefetch loads, so that a tile on the screen finds a free loader.
    package var aheadMax: Int

    /// For sources that charge per tile: how many more tiles may be loaded than without prefetch, as a share; 0.5
    /// limits all loads to 1.5 times as many. Nil for no limit.
    package var extraMax: Double?

    /// Limits of a source; nil leaves out the one.
    package init(loadsMax: Int, aheadMax: Int? = nil, extraMax: Double? = nil) {
      self.extraMax = extraMax
      self.loadsMax = loadsMax
      self.aheadMax = aheadMax ?? (loadsMax <= 2 ? loadsMax : loadsMax - 2)
    }
  }

  /// What an update changed on the screen.
  package struct Step: Sendable {
    /// Tiles that came onto the screen and were kept, or are known not to exist.
    package var hits: [TileID] = []
    /// Tiles that came onto the screen and are missing.
    package var missing: [TileID] = []
    /// Tiles that left the screen.
    package var left: [TileID] = []
  }

  struct State {
    var planner: any PrefetchPlanner
    var visible: TileRange?
    /// Tiles on the screen that did not fit the cache, and the cost of each.
    var held: [TileID: (value: Value, byteCount: Int)] = [:]
    /// Missing tiles on the screen, the next one last.
    var demand: [TileID] = []
    /// Missing tiles that wait for the room of a load in progress. Only within a hard budget.
    var waiting: [TileID] = []
    /// What is reserved for a tile.
    var tileCost: Int
    var plan: [TileID] = []
    var plannedPhase = CameraPhase.rest
    var plannedTime = -Double.infinity
    var position = 0
    var wanted: [TileID: Int] = [:]
    var ahead: Set<TileID> = []
    /// Each load in progress, and when it started.
    var loading: [TileID: (load: Load, start: Duration)] = [:]
    /// Loads of other maps that bring tiles of this screen.
    var joined: [TileID: (load: Load, waiter: Int)] = [:]
    var retries = TileRetries()
    var isPaused = false
    var meter: LoadMeter?

    /// Requests the tiles that found no room again, after all others.
    mutating func retryWaiting() {
      demand.insert(contentsOf: waiting.reversed(), at: 0)
      waiting = []
    }

    /// True when a movement continues to the same target: a plan made less than 50 ms ago contains its whole path.
    func isPlanned(_ phase: CameraPhase, _ time: Double) -> Bool {
      phase.target != nil && phase == plannedPhase && time - plannedTime < 0.05
    }
  }

  /// Where the tiles go.
  package let cache: TileCache<TileID, Value>
  /// The limits of where they come from.
  package let source: Source
  /// The most that a tile costs, in the cache's unit.
  package let tileCost: Int
  /// True when nothing is held outside of the cache's budget: a tile on the screen that has no room is not loaded.
  let isWithinBudget: Bool
  /// The number of this map in the cache.
  package let screen: Int
  let state: Mutex<State>

  /// A loader that fills a cache with what a planner names.
  package convenience init(
    cache: TileCache<TileID, Value>, planner: any PrefetchPlanner, source: Source, tileCost: Int, screen: Int = 0
  ) {
    self.init(
      cache: cache, planner: planner, source: source, tileCost: tileCost, screen: screen, isWithinBudget: false)
  }

  /// - Parameter isWithinBudget: true for a hard budget. Tiles may cost more than `tileCost` then: the cost of the
  ///   dearest one so far is reserved for each load.
  package init(
    cache: TileCache<TileID, Value>, planner: any PrefetchPlanner, source: Source, tileCost: Int, screen: Int = 0,
    isWithinBudget: Bool
  ) {
    self.cache = cache
    self.source = source
    let tileCost = max(tileCost.asCost, 1)
    self.tileCost = tileCost
    self.isWithinBudget = isWithinBudget
    self.screen = screen
    let meter = source.extraMax.map { LoadMeter(extraMax: $0, cache, loadsMax: source.loadsMax, tileCost: tileCost) }
    state = Mutex(State(planner: planner, tileCost: tileCost, meter: meter))
  }

  /// Takes a frame of the map. A viewport of numbers that are not finite, or that no map has, changes nothing; such a
  /// target counts as unknown.
  ///
  /// - Parameters:
  ///   - time: seconds since any fixed moment.
  ///   - point: the position of the cursor on the map, in units of the world, if known: the next zoom in will be
  ///     centred there. It is remembered while it is on the screen.
  ///   - replans: false to update only the screen and keep the plan.
  @discardableResult
  package func update(
    _ viewport: Viewport, phase: CameraPhase, at time: Double, point: MapPoint? = nil, replans: Bool = true
  ) -> Step {
    guard viewport.isUsable else { return Step() }
    let phase = phase.withUsableTarget
    let (step, unwanted) = state.withLock { state -> (Step, Unwanted) in
      let tiles = viewport.tiles
      var step = Step()
      state.meter?.update(viewport, phase: phase, cache)
      let before = state.visible
      if tiles != before { step = show(tiles, target: phase.target, &state) } else { state.retryWaiting() }
      state.planner.update(viewport, phase: phase, at: time)
      if let point { state.planner.point = point }
      if replans, !state.isPlanned(phase, time) {
        (state.plannedPhase, state.plannedTime) = (phase, time)
        replan(&state, target: phase.target)
      }
      let hasJumped = before.map { before in !tiles.contains { before.contains($0) } } ?? false
      return (step, takeUnwanted(hasJumped, step.left, &state))
    }
    // Called without the lock, because a cancellation may call the loader.
    for load in unwanted.own { cache.cancel(load) }
    for (load, waiter) in unwanted.joined { cache.leave(load, waiter: waiter) }
    return step
  }

  /// A tile to draw, if it is there.
  package func tile(_ tile: TileID) -> Value? {
    cache.value(for: tile) ?? state.withLock { $0.held[tile]?.value }
  }

  /// The cost of the tiles on the screen that are held because they found no room in the cache.
  package var heldBytes: Int { state.withLock { $0.held.values.reduce(0) { $0 + $1.byteCount } } }

  /// What is reserved for a load: within a hard budget the highest cost so far.
  package var reservedCost: Int { state.withLock { $0.tileCost } }

  /// How long a loader that found nothing to do may sleep while the map does not move. Then a tile on the screen that
  /// failed, or that the source did not have, is due to be tried again. Nil when there is none.
  package var retryDelay: Duration? {
    state.withLock { $0.retries.firstEnd }.map { max($0 - cache.now(), .zero) }
  }

  /// While true, nothing is prefetched. Set by ``adjust(to:keeping:)`` under memory pressure; an app may set it for
  /// other reasons, such as a low battery.
  package var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set { state.withLock { $0.isPaused = newValue } }
  }

  // MARK: - Following the map

  private func show(_ tiles: TileRange, target: Viewport?, _ state: inout State) -> Step {
    var step = Step()
    step.left = state.visible.map { $0.filter { !tiles.contains($0) } } ?? []
    let entered = tiles.filter { tile in !(state.visible?.contains(tile) ?? false) }
    cache.show(tiles, focus: MapFocus(around: target?.tiles ?? tiles, wanted: state.wanted), in: screen)
    for tile in step.left {
      state.retries.forget(tile)
      // The tile may be cached now, if it is worth more than others.
      if let held = state.held.removeValue(forKey: tile) {
        cache.insert(held.value, for: tile, byteCount: held.byteCount)
      }
    }
    state.visible = tiles
    for tile in entered {
      if cache.value(for: tile) != nil || cache.isAbsent(tile) {
        step.hits.append(tile)
      } else {
        step.missing.append(tile)
        // A prefetch in progress becomes a load on demand. If it has already ended without ``finish(_:_:)`` having been
        // called here, that call handles the tile.
        if state.ahead.remove(tile) != nil { cache.join(tile) }
      }
    }
    let missing = tiles.filter { tile in
      !isThere(tile, state) && state.loading[tile] == nil && state.joined[tile] == nil && !state.retries.contains(tile)
    }
    state.demand = state.planner.order(missing: missing, in: tiles).reversed()
    state.waiting = []
    return step
  }

  private typealias Unwanted = (own: [Load], joined: [(load: Load, waiter: Int)])

  /// Loads that this map does not want any more: other maps' loads of tiles that left the screen, and after a jump its
  /// own loads of tiles that are not planned either. Without a jump a load continues, because plans change with every
  /// frame and may include its tile again.
  private func takeUnwanted(_ hasJumped: Bool, _ left: [TileID], _ state: inout State) -> Unwanted {
    let joined = left.compactMap { state.joined.removeValue(forKey: $0) }
    guard hasJumped else { return ([], joined) }
    let own = state.loading.filter { tile, _ in
      state.visible?.contains(tile) != true && state.wanted[tile] == nil
    }
    return (own.map(\.value.load), joined)
  }

  func isThere(_ tile: TileID, _ state: borrowing State) -> Bool {
    state.held[tile] != nil || cache.contains(tile)
  }

  private func replan(_ state: inout State, target: Viewport?) {
    guard let visible = state.visible else { return }
    let countMax = cache.prefetchBytesMax / max(state.tileCost, 1)
    state.plan = countMax > 0 ? state.planner.plan(countMax: countMax) : []
    state.position = 0
    var wanted: [TileID: Int] = [:]
    wanted.reserveCapacity(state.plan.count)
    for (index, tile) in state.plan.enumerated() where wanted[tile] == nil { wanted[tile] = index }
    state.wanted = wanted
    cache.refocus(MapFocus(around: target?.tiles ?? visible, wanted: wanted), in: screen)
  }
}
