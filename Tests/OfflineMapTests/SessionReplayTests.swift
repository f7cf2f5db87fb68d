import Foundation
import OfflineMap
import PrefetchReplay
import TestSupport
import Testing
import TileIndex
import TilePrefetch

/// Recorded and generated uses of a map on a phone, replayed through a map session in virtual time: blank tile-frames
/// are counted as `tileserve replay` counts them.
@Suite(.ownThread) struct SessionReplayTests {
  private struct Score {
    var blankTileFrames = 0
    /// By the session's own count.
    var bytesPeak = 0
    /// By the pictures that somebody holds.
    var heldBytesPeak = 0
  }

  /// Two loaders take 2.5 ms for a tile, as in `ReplaySource.local`.
  private static let (loaderCount, loadTime) = (2, 2.5e-3)

  private func replay(_ recorded: RecordedSession, budget: Int, tileCost: Int) throws -> Score {
    let (folder, clock) = (try TemporaryFolder(), Locked(0.0))
    let held = CountedPicture.Count((bytes: 0, peak: 0))
    let session = try MapSession(
      bundle: MapBundle(path: folder.writeBundle("any.mbtiles", zooms: 0...0)), budget: budget, tileCost: tileCost,
      coverage: .init(), now: { .seconds(clock.withLock { $0 }) },
      decode: { _ in (CountedPicture(tileCost, in: held), byteCount: tileCost) })
    var busy: [(end: Double, load: MapLoader<CountedPicture>.Load)] = []
    var missingSince: [TileID: Int] = [:]
    var score = Score()
    func feed(_ time: Double) {
      while busy.count < Self.loaderCount, let load = session.loader.next() {
        busy.append((time + Self.loadTime, load))
      }
      score.bytesPeak = max(score.bytesPeak, session.byteCount)
    }
    func count(_ tile: TileID, _ tick: Int) {
      score.blankTileFrames += missingSince.removeValue(forKey: tile).map { max(0, tick - $0) } ?? 0
    }
    func finishFirst() {
      let (end, load) = busy.removeFirst()
      clock.withLock { $0 = end }
      session.finish(load, .tile(CountedPicture(tileCost, in: held), byteCount: tileCost))
      count(load.key, Int((end * 60 - 1e-9).rounded(.up)))
      feed(end)
    }
    for (index, frame) in SessionFrames(recorded, on: .phone, isHarsh: false).frames.enumerated() {
      let time = Double(frame.tick) / 60
      while let first = busy.first, first.end <= time { finishFirst() }
      clock.withLock { $0 = time }
      session.update(frame.viewport, phase: frame.phase)
      let visible = frame.viewport.tiles
      for tile in missingSince.keys where !visible.contains(tile) { count(tile, frame.tick) }
      if index == 0 {
        for _ in visible {
          guard let load = session.loader.next() else { break }
          session.finish(load, .tile(CountedPicture(tileCost, in: held), byteCount: tileCost))
        }
      }
      for tile in visible where missingSince[tile] == nil && session.loader.tile(tile) == nil {
        missingSince[tile] = frame.tick
      }
      feed(time)
    }
    while !missingSince.isEmpty, !busy.isEmpty { finishFirst() }
    score.heldBytesPeak = held.withLock { $0.peak }
    return score
  }

  private func settings(budget: Int, _ tier: ReplaySettings.Tier) -> ReplaySettings {
    var settings = ReplaySettings()
    (settings.budget, settings.tier) = (budget, tier)
    return settings
  }

  /// A drag and a fling every two seconds, in directions that change.
  private func pan(minutes: Int) throws -> RecordedSession {
    var lines = [#"{"op": "start", "t": 0, "z": 13, "x": 0.52, "y": 0.35}"#]
    var random = SeededGenerator(seed: 21)
    for step in 0..<(minutes * 30) {
      let (dx, dy) = (Double.random(in: -0.4...0.4, using: &random), Double.random(in: -0.4...0.4, using: &random))
      lines.append(
        """
        {"op": "pan", "t": \(step * 2), "dur": 0.35, "dx": \(dx), "dy": \(dy), "fling": 1, "fdx": \(dx * 1.5), \
        "fdy": \(dy * 1.5), "frun": 1.2}
        """)
    }
    return try SessionReader.read(Array(lines.joined(separator: "\n").utf8), name: "pan", file: "pan.jsonl")
  }

  @Test(.long, arguments: [ReplaySettings.Tier.rgba, .palette])
  func panOfTenMinutesStaysWithinItsBudgetAndShowsHardlyABlank(_ tier: ReplaySettings.Tier) throws {
    try expectHardlyABlank(minutes: 10, tier)
  }

  @Test func panOfAMinuteStaysWithinItsBudgetAndShowsHardlyABlank() throws { try expectHardlyABlank(minutes: 1, .rgba) }

  private func expectHardlyABlank(minutes: Int, _ tier: ReplaySettings.Tier) throws {
    let (budget, pan) = (32 << 20, try pan(minutes: minutes))
    let ours = try replay(pan, budget: budget, tileCost: tier.tileCost)
    let lru = settings(budget: budget, tier).replay([pan], policy: .lru).total
    #expect(ours.bytesPeak <= budget && ours.heldBytesPeak <= budget, "\(ours)")
    #expect(ours.heldBytesPeak > budget / 2, "what is counted is what the session holds")
    #expect(Double(ours.blankTileFrames) <= 0.03 * Double(lru.blankTileFrames), "\(ours), LRU \(lru)")
  }

  /// The session adds nothing to what the loader and the predictor show, and takes nothing away.
  @Test func generatedSessionsGiveTheFiguresOfTheReplay() throws {
    for seed in 1...2 {
      let recorded = SessionGenerator.session(seed: UInt64(seed), gestureCount: 10)
      let ours = try replay(recorded, budget: 64 << 20, tileCost: 256 << 10)
      let expected = settings(budget: 64 << 20, .rgba).replay([recorded], policy: .default).total.blankTileFrames
      #expect(ours.blankTileFrames == expected, "\(ours), the replay \(expected)")
    }
  }

  /// At least 97% of the blanks that LRU leaves and an oracle, which knows the whole session, would not.
  @Test func dragsAndFlingsShowNearlyWhatAnOracleShows() throws {
    let (budget, pan) = (32 << 20, try pan(minutes: 1))
    let ours = try replay(pan, budget: budget, tileCost: 256 << 10).blankTileFrames
    let settings = settings(budget: budget, .rgba)
    let lru = settings.replay([pan], policy: .lru).total.blankTileFrames
    let oracle = settings.replay([pan], policy: .oracle).total.blankTileFrames
    try #require(lru - oracle > 100)
    let share = Double(lru - ours) / Double(lru - oracle)
    #expect(share >= 0.97, "\(share): LRU \(lru), ours \(ours), an oracle \(oracle)")
  }

  /// 97% of the blanks that LRU leaves.
  @Test(.veryLong, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func recordedSessionsOfPeopleGiveTheFiguresOfTheReplay() throws {
    let people = try RecordedSession.read([TestData.url("traces/open").path]).filter { $0.source == "fc2016" }
    try #require(!people.isEmpty)
    var ours = 0
    for session in people {
      let score = try replay(session, budget: 64 << 20, tileCost: 256 << 10)
      #expect(score.bytesPeak <= 64 << 20)
      ours += score.blankTileFrames
    }
    let lru = settings(budget: 64 << 20, .rgba).replay(people, policy: .lru).total.blankTileFrames
    #expect(Double(ours) <= 0.03 * Double(lru), "\(ours), LRU \(lru)")
  }
}
