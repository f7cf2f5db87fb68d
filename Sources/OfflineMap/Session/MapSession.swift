package import MemoryPressure
public import Observation
import Synchronization
import TileIndex
// As in MapBundle.
@_exported public import TilePrefetch

/// The tiles of one map view: loads what it shows and what it will probably show next, within a budget of memory.
///
/// 1. The app calls ``update(_:phase:point:)`` for every frame in which the map moved.
/// 2. ``start(workers:)`` loads tiles as long as the session exists; ``run(workers:)`` does in a task of the app, until
///    that task is cancelled.
/// 3. The app draws ``visibleTiles``, and draws them again when they change: views of SwiftUI that read them observe
///    that; other code draws each of ``readyTiles()`` when it arrives, which also tell which tiles failed.
///
/// Its workers follow the system's memory pressure. All of this may be called from any task or thread. `Picture` is
/// what the app draws. The bundle must have the grid WebMercatorQuad.
public final class MapSession<Picture: Sendable>: Sendable, Observable {
  /// The bundle whose tiles it shows.
  public let bundle: MapBundle
  /// The two tiers of tiles; the session uses no others. Not for apps, whose loads would exceed the budget.
  package let tiles: TieredTiles<Picture>
  /// Decides what to load next.
  package let loader: MapLoader<Picture>
  let coverage: PrefetchPredictor.Options
  let state = Mutex(State())
  let signal = WorkSignal()
  let observers = ObservationRegistrar()
  let now: @Sendable () -> Duration

  struct State {
    /// What the app shows.
    var viewport: Viewport?
    /// The tiles that this takes.
    var visible: TileRange?
    var phase = CameraPhase.rest
    /// When the map counts as at rest, unless the app moves it before. Only where the app does not tell phases.
    var restTime: Duration?
    var workerCount = 0
    /// The workers of ``start(workers:)``.
    var tasks: [Task<Void, Never>] = []
    /// How short the system's memory is.
    var pressure = PressureLevel.normal
    /// When that level's budget returns after a memory warning.
    var recoveryTime: Duration?
    /// Tiles whose last load failed: of the screen, and some that were loaded ahead.
    var failures: [TileID: TileFailure] = [:]
    var listeners: [Int: AsyncStream<Arrival>.Continuation] = [:]
    var nextListener = 0

    /// Tells all listeners.
    func announce(_ arrival: Arrival) {
      for listener in listeners.values { listener.yield(arrival) }
    }

    /// Forgets failed tiles that leave the screen, which are loaded again when they return, and announces those that
    /// were loaded ahead in vain and come onto it.
    mutating func updateFailures(from before: TileRange?, to after: TileRange) {
      guard !failures.isEmpty else { return }
      for (tile, failure) in failures {
        switch (before?.contains(tile) ?? false, after.contains(tile)) {
        case (true, false): failures[tile] = nil
        case (false, true): announce(Arrival(tile: tile, failure: failure))
        default: break
        }
      }
    }
  }

  /// A tile of the screen that is ready, or has failed. A name, not a picture: what waits is outside of the budget.
  struct Arrival: Sendable {
    let tile: TileID
    var failure: TileFailure?
  }

  /// A session without workers and without a view; ``start(workers:)`` and ``update(_:phase:point:)`` give it both.
  ///
  /// - Parameters:
  ///   - bundle: of WebMercatorQuad.
  ///   - budget: the most bytes that tiles take, loads in progress included. Twice what a screen shows is the least for
  ///     prefetching, four times leaves hardly a blank: docs/explanation/prefetch.md. What a load in progress will cost
  ///     is expected from tiles before it; the bytes from which a tile is decoded do not count.
  ///   - encodedBytes: the part of the budget for tiles as they are stored. It pays where reading is slower than
  ///     decoding, which it is not on a local disk.
  ///   - decode: returns a tile decoded from its bytes, and the bytes that keeping it takes. Several threads call it at
  ///     once.
  /// - Throws: `BundleError` with `.mismatch` for another grid, or a budget without room for a tile.
  public convenience init(
    bundle: MapBundle, budget: Int, encodedBytes: Int = 0,
    decode: @escaping @Sendable ([UInt8]) throws -> (Picture, byteCount: Int)
  ) throws {
    let pixels = bundle.metadata.tilePixels
    try self.init(
      bundle: bundle, budget: budget, encodedBytes: encodedBytes, tileCost: pixels * pixels * 4
    ) { [path = bundle.path] bytes in
      try Self.checkPixels(of: bytes, path)
      return try decode(bytes)
    }
  }

  /// Refuses a tile by its header, because decoders take memory for as many pixels as a file says that it has.
  private static func checkPixels(of bytes: [UInt8], _ path: String) throws {
    guard let header = bytes.withUnsafeBytes({ ImageHeader($0) }) else { return }
    let (count, isOver) = header.width.multipliedReportingOverflow(by: header.height)
    guard isOver || count > ImageHeader.pixelCountMax else { return }
    throw BundleError(
      .malformed, path: path,
      "a tile has \(header.width) x \(header.height) pixels, more than the \(ImageHeader.pixelCountMax) allowed",
      remedy: "get the bundle again from whoever made it")
  }

  /// A session whose parts a test or a measurement chooses.
  ///
  /// - Parameters:
  ///   - tileCost: what a tile probably costs at most. The first one that costs more raises it.
  ///   - coverage: what the source has; by default what the bundle has.
  ///   - now: a monotonic clock; the system's unless given.
  package init(
    bundle: MapBundle, budget: Int, encodedBytes: Int = 0, tileCost: Int, coverage: PrefetchPredictor.Options? = nil,
    now: (@Sendable () -> Duration)? = nil, decode: @escaping @Sendable ([UInt8]) throws -> (Picture, byteCount: Int)
  ) throws {
    guard bundle.matrixSet == .webMercatorQuad else {
      throw BundleError(
        .mismatch, path: bundle.path, "has the grid \(bundle.matrixSet), and map sessions need WebMercatorQuad",
        remedy: "read its tiles one by one, or make a bundle with the other grid")
    }
    guard budget > 0, (0..<budget).contains(encodedBytes), budget - encodedBytes >= tileCost else {
      throw BundleError(
        .mismatch, path: bundle.path,
        "its tiles take up to \(tileCost) bytes, and a session of \(budget) bytes, \(encodedBytes) of them for stored "
          + "tiles, has no room for one",
        remedy: "give the session a larger budget: four screens of tiles, about 64 MB")
    }
    self.bundle = bundle
    var around = coverage ?? PrefetchPredictor.Options(zooms: bundle.metadata.zooms, finest: bundle.finest)
    around.goesAroundTheWorld = true
    self.coverage = around
    let start = ContinuousClock.now
    let now = now ?? { ContinuousClock.now - start }
    self.now = now
    tiles = TieredTiles(
      decodedBytes: budget - encodedBytes, encodedBytes: encodedBytes, absentLifetime: Self.absentLifetime, now: now,
      decode: decode,
      source: { [readers = bundle.readers] tile in try readers.withReader { try $0.tile(tile.onEarth) } }
    )
    // The workers limit the loads.
    loader = MapLoader(
      cache: tiles.decoded, planner: PrefetchPredictor(options: around),
      source: .init(loadsMax: .max, aheadMax: .max),
      tileCost: tileCost, isWithinBudget: true)
  }

  /// An open bundle does not change.
  private static var absentLifetime: Duration { .seconds(86_400) }

  // MARK: - Following the map

  /// Takes what the map view shows now. A centre beyond ±180° is where it is on the world, as in map views that repeat
  /// it, and a screen that reaches beyond ±180° shows what lies there. Of a screen that is wider than the world the
  /// middle is drawn, with each tile once. A viewport of numbers that are not finite, or that no map has, changes
  /// nothing.
  ///
  /// - Parameters:
  ///   - phase: what moves the map. The target of a fling or an animation is worth announcing: its path is loaded
  ///     ahead. If nil, it is inferred from the viewports.
  ///   - point: the position of the cursor on the map, if known.
  /// - Complexity: a few hundred microseconds at most.
  public func update(_ viewport: Viewport, phase: CameraPhase? = nil, point: MapPoint? = nil) {
    guard viewport.isUsable else { return }
    let phase = phase?.withUsableTarget
    let point = point.flatMap { $0.x.isFinite && $0.y.isFinite ? $0 : nil }
    let time = now()
    if let pressure = state.withLock({ state in state.recoveryTime.flatMap { $0 <= time ? state.pressure : nil } }) {
      adjust(to: pressure)
    }
    state.withLock { state in
      let (viewport, phase) = Self.continuing(state.viewport, viewport, phase)
      let inferred = phase ?? Self.phase(from: state.viewport, to: viewport)
      state.restTime = phase == nil && inferred != .rest ? time + Self.restDelay : nil
      state.viewport = viewport
      state.phase = inferred
      show(viewport, inferred, point, at: time, &state)
    }
    signal.notify()
    announceChange()
  }

  /// The same viewport in the world of the one before, or the world beside it: a map that crosses the antimeridian
  /// moves on, and the tiles on its screen keep their names. Its target is as far from it as before.
  private static func continuing(
    _ before: Viewport?, _ viewport: Viewport, _ phase: CameraPhase?
  ) -> (Viewport, CameraPhase?) {
    let turns =
      if let before {
        (viewport.x - before.x).rounded()
      } else {
        (0...1).contains(viewport.x) ? 0 : viewport.x.rounded(.down)
      }
    guard turns != 0 else { return (viewport, phase) }
    func moved(_ viewport: Viewport) -> Viewport {
      var viewport = viewport
      viewport.x -= turns
      return viewport
    }
    switch phase {
    case .fling(let target)?: return (moved(viewport), .fling(target: moved(target)))
    case .animation(let target)?: return (moved(viewport), .animation(target: moved(target)))
    default: return (moved(viewport), phase)
    }
  }

  func show(
    _ viewport: Viewport, _ phase: CameraPhase, _ point: MapPoint?, at time: Duration, _ state: inout State
  ) {
    let workers = state.workerCount
    let fitted = fitted(viewport, workers)
    let phase: CameraPhase =
      switch phase {
      case .fling(let target): .fling(target: self.fitted(target, workers))
      case .animation(let target): .animation(target: self.fitted(target, workers))
      case .rest, .drag, .pinch, .follow: phase
      }
    state.updateFailures(from: state.visible, to: fitted.tiles)
    state.visible = fitted.tiles
    let point = point.map { MapPoint(x: $0.x + (viewport.x - $0.x).rounded(), y: $0.y) }
    loader.update(fitted, phase: phase, at: time / .seconds(1), point: point)
  }

  /// How long a map whose app does not tell phases must not move to count as at rest.
  private static var restDelay: Duration { .milliseconds(150) }

  private static func phase(from before: Viewport?, to now: Viewport) -> CameraPhase {
    guard let before else { return .rest }
    if abs(before.zoom - now.zoom) > 1e-6 { return .pinch }
    return before.x == now.x && before.y == now.y ? .rest : .drag
  }

  // MARK: - Loading

  /// Loads tiles as long as the session exists: its workers do not keep it, and end with the last reference to it. So
  /// do the sequences of ``readyTiles()``, and the bundle is closed.
  ///
  /// - Parameter workers: how many tiles are read and decoded at the same time, on threads of the system's pool. The
  ///   workers of several calls add up.
  public func start(workers: Int = 2) { start(workers: workers, following: .ofMaps) }

  /// - Parameter memory: tells the levels of memory pressure; nil for none.
  package func start(workers: Int, following memory: MemoryPressureMonitor?) {
    let session: @Sendable () -> MapSession? = { [weak self] in self }
    var tasks = (0..<add(workers)).map { _ in
      Task(executorPreference: QueueExecutor.ofMaps) { [signal] in await Self.work(for: session, signal) }
    }
    if let memory { tasks.append(Task { await Self.follow(memory, for: session) }) }
    state.withLock { $0.tasks += tasks }
  }

  /// Loads tiles until the calling task is cancelled. That task has to be cancelled, because it keeps the session;
  /// where nothing cancels it, ``start(workers:)`` does the same.
  ///
  /// - Parameter workers: as of ``start(workers:)``.
  public func run(workers: Int = 2) async {
    let workers = add(workers)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<workers {
        group.addTask(executorPreference: QueueExecutor.ofMaps) { [signal] in await Self.work(for: { self }, signal) }
      }
      group.addTask { await Self.follow(.ofMaps, for: { self }) }
    }
    state.withLock { $0.workerCount -= workers }
  }

  private func add(_ workers: Int) -> Int {
    let workers = max(workers, 1)
    state.withLock { $0.workerCount += workers }
    fitAgain()
    return workers
  }

  deinit {
    let (tasks, listeners) = state.withLock { ($0.tasks, $0.listeners.values) }
    for task in tasks { task.cancel() }
    for listener in listeners { listener.finish() }
  }

  /// How many workers there are.
  package var workerCount: Int { state.withLock { $0.workerCount } }

  /// - Parameter session: nil when it has ended. A worker holds it while it loads, and not while it sleeps.
  private static func work(for session: @Sendable () -> MapSession?, _ signal: WorkSignal) async {
    while !Task.isCancelled {
      let seen = signal.count
      guard let step = session()?.step() else { return }
      if case .idle(let delay) = step { await signal.sleep(after: seen, atMost: delay) }
    }
  }

  private enum Step {
    case loaded
    /// There is nothing to do before the next signal, or before so much time has passed.
    case idle(Duration?)
  }

  private func step() -> Step {
    let restDelay = settle()
    guard let load = loader.next() else { return .idle([restDelay, loader.retryDelay].compactMap(\.self).min()) }
    finish(load, tiles.load(load.key))
    return .loaded
  }

  /// Ends a load, and announces its tile, or its failure, if it is on the screen.
  package func finish(_ load: MapLoader<Picture>.Load, _ outcome: LoadOutcome<Picture>) {
    let cost = loader.reservedCost
    loader.finish(load, outcome)
    // Fewer tiles fit the budget than was thought.
    if loader.reservedCost > cost { fitAgain() }
    let failure = failure(of: load, outcome)
    let changes = state.withLock { state in
      let isVisible = state.visible?.contains(load.key) ?? false
      let before = state.failures[load.key]
      state.failures[load.key] = failure
      if case .tile = outcome, failure == nil, isVisible { state.announce(Arrival(tile: load.key)) }
      // A tile that fails again and again is announced once.
      if let failure, before == nil, isVisible { state.announce(Arrival(tile: load.key, failure: failure)) }
      if state.failures.count > Self.failuresMax {
        state.failures = state.failures.filter { state.visible?.contains($0.key) ?? false }
      }
      // A coarser one may stand in for some of the screen.
      return isVisible || load.key.zoom < state.visible?.zoom ?? 0
    }
    signal.notify()
    if changes { announceChange() }
  }

  /// Bounds what a damaged bundle can fill with tiles that were loaded ahead.
  private static var failuresMax: Int { 1024 }

  private func failure(of load: MapLoader<Picture>.Load, _ outcome: LoadOutcome<Picture>) -> TileFailure? {
    switch outcome {
    case .tile(_, let byteCount):
      let byteCountMax = tiles.decoded.byteCountMax
      guard byteCount > byteCountMax else { return nil }
      let error = BundleError(
        .mismatch, path: bundle.path,
        "its tile \(load.key.onEarth) takes \(byteCount) bytes, and the session has \(byteCountMax) for its tiles",
        remedy: "give the session a larger budget")
      return TileFailure(tileID: load.key.onEarth, reason: error)
    case .absent: return nil
    case .failed(let error): return load.isCancelled ? nil : TileFailure(tileID: load.key.onEarth, reason: error)
    }
  }

  /// Takes a map that has not moved for a while as one at rest.
  ///
  /// - Returns: how long until then; nil where it is at rest, or its app tells.
  private func settle() -> Duration? {
    let time = now()
    return state.withLock { state in
      guard let rest = state.restTime, let viewport = state.viewport else { return nil }
      guard rest <= time else { return rest - time }
      (state.restTime, state.phase) = (nil, .rest)
      show(viewport, .rest, nil, at: time, &state)
      return nil
    }
  }
}

extension MapSession where Picture == [UInt8] {
  /// A session of tiles as they are stored, for apps that decode when they draw.
  ///
  /// - Parameters: as above.
  /// - Throws: as above.
  public convenience init(bundle: MapBundle, budget: Int) throws {
    try self.init(
      bundle: bundle, budget: budget, tileCost: TieredTiles<[UInt8]>.encodedCostMax,
      decode: { ($0, byteCount: $0.count) })
  }
}
