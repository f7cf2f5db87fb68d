import LibC
import Support
import TileIndex
import TilePrefetch

/// Replays a session on a bundle in real time: the map moves by the clock, and as many threads as the source has
/// loaders read and decode tiles, as in an app.
///
/// 1. The first screen is loaded before the session begins.
/// 2. The calling thread takes each frame when it is due, and wakes the loaders.
/// 3. A loader takes the most urgent tile, loads it and records the end of the load. When there is nothing to do it
///    sleeps.
///
/// Mutable state is guarded by `condition`, which makes the unchecked `Sendable` valid.
final class RealTimeReplay: @unchecked Sendable {
  private let frames: SessionFrames
  private let setup: ReplaySetup
  private let loader: MapLoader<ReplayTile>
  /// The speed of the map, as a multiple of real time.
  private let speed: Double
  private let condition = ThreadCondition()
  private var scorer = ReplayScorer()
  /// Grows with every frame and every finished load. A loader that found nothing to do sleeps until it has grown.
  private var changeCount = 0
  /// Loaders that found nothing to do since the last change.
  private var idleCount = 0
  private var isOver = false
  private var begin = ContinuousClock.now

  init(_ frames: SessionFrames, _ setup: ReplaySetup, speed: Double) {
    self.frames = frames
    self.setup = setup
    self.speed = speed
    loader = setup.make()
  }

  /// Takes as long as the session, divided by its speed.
  ///
  /// - Parameter open: opens a reader of the bundle for each thread.
  /// - Throws: what `open` throws.
  func run(_ open: () throws -> BundleTiles) throws -> ReplayScore {
    let tiles = try open()
    let readers = try (0..<setup.loaderCount).map { _ in try open() }
    guard let first = frames.frames.first else { return ReplayScore() }
    setup.beforePlanning(0)
    let missing = loader.update(first.viewport, phase: first.phase, at: 0).missing
    for _ in missing {
      guard let load = loader.next() else { break }
      loader.finish(load, tiles.load(load.key).outcome)
    }
    begin = .now
    let loaders = readers.compactMap { reader in WorkerThread.start { [self] in work(reader) } }
    for index in frames.frames.indices.dropFirst() { show(index, tiles) }
    end()
    for loader in loaders { loader.join() }
    return scorer.score(loader.cache.statistics, preloaded: missing.count)
  }

  private func show(_ index: Int, _ tiles: BundleTiles) {
    let frame = frames.frames[index]
    let seconds = Double(frame.tick) / SessionFrames.rate / speed
    let wait = begin + .seconds(seconds) - .now
    if wait > .zero { Self.sleep(wait / .seconds(1)) }
    condition.lock()
    setup.beforePlanning(index)
    // Under the lock, so that a missing tile is recorded before a loader records its arrival.
    let step = loader.update(
      frame.viewport, phase: frame.phase, at: seconds, replans: setup.plansEveryFrame || frames.isEvent[index])
    scorer.take(step, at: frame.tick, loader.cache, tiles)
    changed()
    condition.unlock()
  }

  /// The body of a loading thread.
  private func work(_ reader: BundleTiles) {
    condition.lock()
    var seen = -1
    while !isOver {
      guard seen != changeCount else {
        condition.wait()
        continue
      }
      seen = changeCount
      while !isOver, let load = loader.next() {
        condition.unlock()
        let outcome = reader.load(load.key).outcome
        if reader.delay > 0 { Self.sleep(reader.delay) }
        condition.lock()
        loader.finish(load, outcome)
        scorer.finished(load.key, at: tickNow)
        changed()
      }
      guard seen == changeCount else { continue }
      idleCount += 1
      condition.broadcast()
    }
    condition.unlock()
  }

  /// Waits for the tiles that are missing at the end, except those that cannot be read.
  private func end() {
    condition.lock()
    while scorer.isMissingAny, idleCount < setup.loaderCount { condition.wait() }
    isOver = true
    condition.broadcast()
    condition.unlock()
  }

  private static func sleep(_ seconds: Double) { usleep(useconds_t(seconds * 1e6)) }

  private func changed() {
    changeCount += 1
    idleCount = 0
    condition.broadcast()
  }

  /// The next frame to be shown.
  private var tickNow: Int {
    Int((ContinuousClock.now - begin) / .seconds(1) * speed * SessionFrames.rate) + 1
  }
}
