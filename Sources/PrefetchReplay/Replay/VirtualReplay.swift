import Synchronization
import TileIndex
import TilePrefetch

/// Replays a session in virtual time: the real cache and loader, with simulated load times.
///
/// 1. Loads that end before a frame are finished in the order of their ends, and each frees its loader for the next
///    one.
/// 2. The frame moves the map. Tiles that come onto the screen are cached or missing.
/// 3. Free loaders take the most urgent tiles.
///
/// The first screen is loaded before the session begins.
struct VirtualReplay {
  private let setup: ReplaySetup
  private let frames: SessionFrames
  private let loader: MapLoader<ReplayTile>
  private var scorer = ReplayScorer()
  /// Loads in progress, ordered by their ends.
  private var busy: [(end: Double, load: TileLoad<TileID, ReplayTile>, outcome: LoadOutcome<ReplayTile>)] = []
  private let tiles: any ReplayTiles
  private let clock: VirtualClock

  init(_ frames: SessionFrames, _ setup: ReplaySetup, tiles: any ReplayTiles) {
    let clock = VirtualClock()
    self.frames = frames
    self.setup = setup
    self.tiles = tiles
    self.clock = clock
    loader = setup.make(now: { clock.now })
  }

  /// - Parameters:
  ///   - interval: the score so far is reported after each interval, in seconds of the session.
  ///   - report: gets the score since the beginning.
  mutating func run(every interval: Double = .infinity, _ report: (ReplayScore) -> Void = { _ in }) -> ReplayScore {
    var next = interval
    for index in frames.frames.indices {
      while Double(frames.frames[index].tick) / SessionFrames.rate >= next {
        report(scorer.score(loader.cache.statistics, preloaded: preloaded))
        next += interval
      }
      step(index)
    }
    // Tiles that are missing at the end are still loaded.
    while scorer.isMissingAny, !busy.isEmpty { finishFirst() }
    return scorer.score(loader.cache.statistics, preloaded: preloaded)
  }

  private var preloaded = 0

  private mutating func step(_ index: Int) {
    let frame = frames.frames[index]
    let time = Double(frame.tick) / SessionFrames.rate
    while let first = busy.first, first.end <= time { finishFirst() }
    clock.set(time)
    setup.beforePlanning(index)
    let step = loader.update(
      frame.viewport, phase: frame.phase, at: time, replans: setup.plansEveryFrame || frames.isEvent[index])
    if index == 0 { return preload(step.missing) }
    scorer.take(step, at: frame.tick, loader.cache, tiles)
    feed(time)
  }

  private mutating func preload(_ missing: [TileID]) {
    preloaded = missing.count
    for _ in missing {
      guard let load = loader.next() else { break }
      let (outcome, seconds) = tiles.load(load.key)
      // The loader measures the duration of a load by its clock.
      clock.set(seconds)
      loader.finish(load, outcome)
      clock.set(0)
    }
    feed(0)
  }

  private mutating func feed(_ time: Double) {
    while busy.count < setup.loaderCount, let load = loader.next() {
      let (outcome, seconds) = tiles.load(load.key)
      let end = time + seconds
      let place = busy.lastIndex { $0.end <= end }.map { $0 + 1 } ?? 0
      busy.insert((end, load, outcome), at: place)
    }
  }

  private mutating func finishFirst() {
    let (end, load, outcome) = busy.removeFirst()
    clock.set(end)
    loader.finish(load, outcome)
    let tick = Int((end * SessionFrames.rate - 1e-9).rounded(.up))
    scorer.finished(load.key, at: tick)
    feed(end)
  }
}

/// The clock of a replay's cache and loader.
private final class VirtualClock: Sendable {
  private let time = Mutex(Duration.zero)
  var now: Duration { time.withLock { $0 } }
  func set(_ seconds: Double) { time.withLock { $0 = .seconds(seconds) } }
}
