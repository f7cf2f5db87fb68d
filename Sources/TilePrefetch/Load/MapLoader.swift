import Synchronization
public import TileIndex

/// Keeps the tiles of one map on one screen ready: says to any number of loading threads what to load next.
///
/// 1. The app calls ``update(_:phase:at:)`` for every frame in which the map moved.
/// 2. Each of its loaders takes ``next()``, loads, and calls ``finish(_:_:)``. Tiles on the screen come first, always; what was planned and is not sensible any more is never begun.
/// 3. The app draws ``tile(_:)``.
public final class MapLoader<Value: Sendable>: Sendable {
  public typealias Load = TileLoad<TileID, Value>

  /// How a loader's source is.
  public struct Source: Hashable, Sendable {
    /// How many loads are worth doing at the same time.
    public var loadsMax: Int
    /// How many of these may be ahead of need, so that a tile on the screen finds a free one.
    public var aheadMax: Int

    /// For sources that cost money: how many more tiles may be loaded than without prefetch, as a share of these; 0.5 keeps all loads within 1.5 times as many. Nil for no bound.
    public var extraMax: Double?

    public init(loadsMax: Int, aheadMax: Int? = nil, extraMax: Double? = nil) {
      self.extraMax = extraMax
      self.loadsMax = loadsMax
      self.aheadMax = aheadMax ?? (loadsMax <= 2 ? loadsMax : loadsMax - 2)
    }
  }

  /// What a step of the map changed on the screen.
  public struct Step: Sendable {
    /// Tiles that came onto the screen and were there, or are known not to exist.
    public var hits: [TileID] = []
    /// Tiles that came onto the screen and are missing.
    public var missing: [TileID] = []
    /// Tiles that left the screen.
    public var left: [TileID] = []
  }

  private struct State {
    var planner: any PrefetchPlanner
    var visible: TileRange?
    /// Tiles on the screen that found no room in the cache.
    var held: [TileID: Value] = [:]
    /// Missing tiles on the screen, the next one last.
    var demand: [TileID] = []
    var plan: [TileID] = []
    var plannedPhase = CameraPhase.rest
    var plannedTime = -Double.infinity
    var position = 0
    var wanted: [TileID: Int] = [:]
    var ahead: Set<TileID> = []
    /// When each load under way began.
    var loading: [TileID: Duration] = [:]
    var meter: LoadMeter?

    /// True when a movement goes on to where it was going: the plan of 50 ms ago has all of its path.
    func isPlanned(_ phase: CameraPhase, _ time: Double) -> Bool {
      phase.target != nil && phase == plannedPhase && time - plannedTime < 0.05
    }
  }

  public let cache: TileCache<TileID, Value>
  public let source: Source
  /// What a tile costs at most, in the cache's unit.
  public let tileCost: Int
  /// The cache's number for this map.
  public let screen: Int
  private let state: Mutex<State>

  public init(
    cache: TileCache<TileID, Value>, planner: any PrefetchPlanner, source: Source, tileCost: Int, screen: Int = 0
  ) {
    self.cache = cache
    self.source = source
    self.tileCost = tileCost
    self.screen = screen
    let meter = source.extraMax.map { LoadMeter(extraMax: $0, cache, loadsMax: source.loadsMax, tileCost: tileCost) }
    state = Mutex(State(planner: planner, meter: meter))
  }

  /// Takes a frame of the map.
  ///
  /// - Parameters:
  ///   - time: seconds since any moment.
  ///   - replans: false when only the screen is to follow, and what is planned stays.
  @discardableResult
  public func update(_ viewport: Viewport, phase: CameraPhase, at time: Double, replans: Bool = true) -> Step {
    state.withLock { state in
      let tiles = viewport.tiles
      var step = Step()
      state.meter?.update(viewport, phase: phase, cache)
      if tiles != state.visible { step = show(tiles, target: phase.target, &state) }
      state.planner.update(viewport, phase: phase, at: time)
      if replans, !state.isPlanned(phase, time) {
        (state.plannedPhase, state.plannedTime) = (phase, time)
        replan(&state, target: phase.target)
      }
      return step
    }
  }

  private func show(_ tiles: TileRange, target: Viewport?, _ state: inout State) -> Step {
    var step = Step()
    step.left = state.visible.map { $0.filter { !tiles.contains($0) } } ?? []
    let entered = tiles.filter { tile in !(state.visible?.contains(tile) ?? false) }
    cache.show(tiles, focus: MapFocus(around: target?.tiles ?? tiles, wanted: state.wanted), in: screen)
    for tile in step.left {
      // What was only handed out may stay now, if it is worth more than others.
      if let value = state.held.removeValue(forKey: tile) { cache.insert(value, for: tile, byteCount: tileCost) }
    }
    state.visible = tiles
    for tile in entered {
      if cache.value(for: tile) != nil || cache.isAbsent(tile) {
        step.hits.append(tile)
      } else {
        step.missing.append(tile)
        // A load ahead of need under way becomes one that somebody waits for.
        if state.ahead.remove(tile) != nil { _ = cache.begin(tile, byteCount: tileCost) }
      }
    }
    let missing = tiles.filter { !isThere($0, state) && state.loading[$0] == nil }
    state.demand = state.planner.order(missing: missing, in: tiles).reversed()
    return step
  }

  private func isThere(_ tile: TileID, _ state: borrowing State) -> Bool {
    state.held[tile] != nil || cache.contains(tile)
  }

  private func replan(_ state: inout State, target: Viewport?) {
    guard let visible = state.visible else { return }
    let countMax = cache.prefetchBytesMax / max(tileCost, 1)
    state.plan = countMax > 0 ? state.planner.plan(countMax: countMax) : []
    state.position = 0
    var wanted: [TileID: Int] = [:]
    wanted.reserveCapacity(state.plan.count)
    for (index, tile) in state.plan.enumerated() where wanted[tile] == nil { wanted[tile] = index }
    state.wanted = wanted
    cache.refocus(MapFocus(around: target?.tiles ?? visible, wanted: wanted), in: screen)
  }

  /// What a free loader should load now; nil when there is nothing to do until the map moves or a load ends.
  public func next() -> Load? {
    state.withLock { state in
      guard state.loading.count < source.loadsMax else { return nil }
      while let tile = state.demand.popLast() {
        guard !isThere(tile, state), state.loading[tile] == nil else { continue }
        if case .load(let load) = cache.begin(tile, byteCount: tileCost) {
          state.loading[tile] = cache.now()
          state.meter?.began(tile)
          return load
        }
      }
      guard state.ahead.count < source.aheadMax, state.meter?.allowsAhead ?? true else { return nil }
      while state.position < state.plan.count {
        let tile = state.plan[state.position]
        state.position += 1
        guard state.visible?.contains(tile) != true, state.loading[tile] == nil else { continue }
        switch cache.begin(tile, byteCount: tileCost, purpose: .prefetch) {
        case .kept, .absent, .joined: continue
        case .refused:
          // The rest is less urgent, so there is no room for it either.
          state.position = state.plan.count
        case .load(let load):
          state.loading[tile] = cache.now()
          state.meter?.began(tile)
          state.ahead.insert(tile)
          return load
        }
      }
      return nil
    }
  }

  /// Ends a load.
  public func finish(_ load: Load, _ outcome: LoadOutcome<Value>) {
    cache.finish(load, outcome)
    state.withLock { state in
      if let start = state.loading.removeValue(forKey: load.key), state.meter != nil {
        var byteCount: Int?
        if case .tile(_, let count) = outcome { byteCount = count }
        state.meter?.ended(after: cache.now() - start, byteCount: byteCount)
      }
      state.ahead.remove(load.key)
      if case .tile(let value, _) = outcome, state.visible?.contains(load.key) == true, !cache.contains(load.key) {
        state.held[load.key] = value
      }
    }
  }

  /// For sources that cost money: how many tiles were loaded, and how many would have been without prefetch, both without the first screen. Nil for others.
  public var meteredLoads: (all: Int, unaided: Int)? { state.withLock { $0.meter?.loads } }

  /// A tile to draw, when it is there.
  public func tile(_ tile: TileID) -> Value? {
    cache.value(for: tile) ?? state.withLock { $0.held[tile] }
  }
}
