import Synchronization
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
  private let setup: ReplaySetup
  private let frames: SessionFrames
  private let loader: MapLoader<ReplayTile>
  private var ledger = ScreenLedger()
  /// Loads under way, the first to end first.
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
  ///   - interval: seconds of the session after which its score so far is reported, again and again.
  ///   - report: gets what it came to since the beginning.
  mutating func run(every interval: Double = .infinity, _ report: (ReplayScore) -> Void = { _ in }) -> ReplayScore {
    var next = interval
    for index in frames.frames.indices {
      while Double(frames.frames[index].tick) / SessionFrames.rate >= next {
        report(ledger.score(loader.cache.statistics, preloaded: preloaded))
        next += interval
      }
      step(index)
    }
    // What is missing at the end still comes.
    while ledger.isMissingAny, !busy.isEmpty { finishFirst() }
    return ledger.score(loader.cache.statistics, preloaded: preloaded)
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
    ledger.take(step, at: frame.tick, loader.cache, tiles)
    feed(time)
  }

  private mutating func preload(_ missing: [TileID]) {
    preloaded = missing.count
    for _ in missing {
      guard let load = loader.next() else { break }
      let (outcome, seconds) = tiles.load(load.key)
      // The loader learns from it what a load takes.
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
    ledger.finished(load.key, at: tick)
    feed(end)
  }
}

/// The time of a replay, which its cache and loader go by.
private final class VirtualClock: Sendable {
  private let time = Mutex(Duration.zero)
  var now: Duration { time.withLock { $0 } }
  func set(_ seconds: Double) { time.withLock { $0 = .seconds(seconds) } }
}
