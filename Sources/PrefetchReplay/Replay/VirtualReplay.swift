import TileIndex
import TilePrefetch

/// Replays a session in virtual time: the real cache and the real loader's queue, with loads that take as long as is said.
///
/// 1. Loads that are finished before a frame are booked in the order of their ends, and each makes room for the next.
/// 2. The frame moves the map; tiles that come onto the screen are there or missing.
/// 3. Free loaders take what is most urgent.
///
/// The first screen is loaded before it begins.
struct VirtualReplay {
  struct Settings: Sendable {
    var loaderCount: Int
    var budget: Int
    /// What a tile costs at most.
    var tileCost: Int
    var eviction: any EvictionPolicy
    var unusedShareMax: Double
    var isMetered = false
  }

  private let settings: Settings
  private let frames: SessionFrames
  private let cache: TileCache<TileID, ReplayTile>
  private let loader: MapLoader<ReplayTile>
  private var ledger = ScreenLedger()
  /// Loads under way, the first to end first.
  private var busy: [(end: Double, load: TileLoad<TileID, ReplayTile>, outcome: LoadOutcome<ReplayTile>)] = []
  private let tiles: any ReplayTiles
  private let plansEveryFrame: Bool
  private let beforePlanning: (Int) -> Void

  /// - Parameters:
  ///   - plansEveryFrame: false for policies that plan at events only.
  ///   - beforePlanning: is told each frame's number; a planner that knows the future needs it.
  init(
    _ frames: SessionFrames, _ settings: Settings, tiles: any ReplayTiles, planner: any PrefetchPlanner,
    plansEveryFrame: Bool,
    beforePlanning: @escaping (Int) -> Void = { _ in }
  ) {
    self.frames = frames
    self.settings = settings
    self.tiles = tiles
    self.plansEveryFrame = plansEveryFrame
    self.beforePlanning = beforePlanning
    cache = TileCache(
      byteCountMax: settings.budget, eviction: settings.eviction, unusedShareMax: settings.unusedShareMax,
      now: { .zero })
    loader = MapLoader(
      cache: cache, planner: planner,
      source: .init(loadsMax: settings.loaderCount, wasteMax: settings.isMetered ? 0.5 : nil),
      tileCost: settings.tileCost)
  }

  mutating func run() -> ReplayScore {
    for index in frames.frames.indices { step(index) }
    // What is missing at the end still comes.
    while ledger.isMissingAny, !busy.isEmpty { finishFirst() }
    var score = ledger.score
    let statistics = cache.statistics
    score.prefetches = statistics.prefetches
    score.prefetchesUsed = statistics.prefetchesUsed
    score.loads = statistics.prefetches + statistics.misses - preloaded
    score.bytesPeak = statistics.bytesPeak
    return score
  }

  private var preloaded = 0

  private mutating func step(_ index: Int) {
    let frame = frames.frames[index]
    let time = Double(frame.tick) / SessionFrames.rate
    while let first = busy.first, first.end <= time { finishFirst() }
    beforePlanning(index)
    let step = loader.update(
      frame.viewport, phase: frame.phase, at: time, replans: plansEveryFrame || frames.isEvent[index])
    if index == 0 { return preload(step.missing) }
    for tile in step.left { ledger.end(tile, at: frame.tick) }
    for _ in step.hits { ledger.hit() }
    for tile in step.missing { ledger.miss(tile, at: frame.tick, isHard: !hasStandIn(tile)) }
    ledger.settle(at: frame.tick)
    feed(time)
  }

  private mutating func preload(_ missing: [TileID]) {
    preloaded = missing.count
    for _ in missing {
      guard let load = loader.next() else { break }
      loader.finish(load, tiles.load(load.key).outcome)
    }
    feed(0)
  }

  private mutating func feed(_ time: Double) {
    while busy.count < settings.loaderCount, let load = loader.next() {
      let (outcome, seconds) = tiles.load(load.key)
      let end = time + seconds
      let place = busy.lastIndex { $0.end <= end }.map { $0 + 1 } ?? 0
      busy.insert((end, load, outcome), at: place)
    }
  }

  private mutating func finishFirst() {
    let (end, load, outcome) = busy.removeFirst()
    loader.finish(load, outcome)
    let tick = Int((end * SessionFrames.rate - 1e-9).rounded(.up))
    ledger.end(load.key, at: tick)
    ledger.settle(at: tick)
    feed(end)
  }

  /// An ancestor or all children can be drawn instead.
  private func hasStandIn(_ tile: TileID) -> Bool {
    for zooms in 1...5 where tile.zoom >= zooms {
      let ancestor = TileID(unchecked: tile.zoom - zooms, tile.column >> zooms, tile.row >> zooms)
      if cache.contains(ancestor) { return true }
    }
    return tile.children.allSatisfy { cache.contains($0) }
  }
}
