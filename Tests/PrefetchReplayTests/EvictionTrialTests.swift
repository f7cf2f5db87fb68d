import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Eviction without prefetch, with room for 128 tiles off the screen.
@Suite(.ownThread) struct EvictionTrialTests {
  private static let settings: ReplaySettings = {
    var settings = ReplaySettings()
    settings.budget = 128 * settings.tier.tileCost
    return settings
  }()

  @Test func policiesRankAsExpected() {
    let sessions = (1...2).map { SessionGenerator.session(seed: UInt64($0), gestureCount: 20) }
    let report = Self.settings.replayEviction(sessions)
    let total = report.total
    #expect(total.requests == report.sessions.map(\.requests).reduce(0, +))
    for hits in [total.simulator, total.cache] {
      #expect(hits.lru < hits.default && hits.default < hits.belady && hits.belady < total.requests, "\(total)")
    }
    for line in report.sessions {
      for hits in [line.simulator, line.cache] {
        #expect(hits.belady >= max(hits.lru, hits.reference, hits.default), "\(line)")
      }
      // The simulator's accounting costs every policy hits.
      #expect(line.simulator.lru <= line.cache.lru && line.simulator.belady <= line.cache.belady, "\(line)")
    }
  }

  @Test func moreRoomIsNeverWorse() {
    let session = SessionGenerator.session(seed: 4, gestureCount: 20)
    var large = Self.settings
    large.budget *= 4
    let (few, many) = (Self.settings.replayEviction([session]).total, large.replayEviction([session]).total)
    for hits in [\EvictionReport.Line.simulator, \.cache] {
      let (few, many) = (few[keyPath: hits], many[keyPath: hits])
      #expect(many.lru >= few.lru && many.belady >= few.belady && many.default >= few.default, "\(few) \(many)")
    }
  }

  /// Hit rates of the reference simulator for one person: LRU, by distance, Belady's rule.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func hitRatesMatchTheReferenceSimulator() throws {
    let (lru, distance, belady) = (0.184, 0.210, 0.265)
    let session = try RecordedSession.read([TestData.url("traces/open/fc2016_u03.jsonl").path])
    let total = Self.settings.replayEviction(session).total
    let requests = Double(total.requests)
    let simulator = total.simulator
    for (hits, expected) in [(simulator.lru, lru), (simulator.reference, distance), (simulator.belady, belady)] {
      #expect(abs(Double(hits) / requests - expected) <= 0.05 * expected, "\(total)")
    }
  }

  /// In the reference simulator's accounting the default policy covers at least 45% of the distance from LRU to
  /// Belady's rule. `LONG_TESTS=full` replays all ten people, otherwise two with short sessions.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func evictionCoversMuchOfTheDistanceToBelady() throws {
    let sessions = try RecordedSession.read([TestData.url("traces/open").path]).filter { session in
      session.source == "fc2016" && (TestEffort.isFull || ["u03", "u11"].contains { session.name.hasSuffix($0) })
    }
    let total = Self.settings.replayEviction(sessions).total
    let hits = total.simulator
    #expect((hits.share(hits.default) ?? 0) >= 0.45, "\(hits)")
    guard TestEffort.isFull else { return }
    // The same for the hit rates that the simulator itself reports, whose Belady's rule finds slightly more.
    let share = (Double(hits.default) / Double(total.requests) - 0.171) / (0.303 - 0.171)
    #expect(share >= 0.45, "\(hits)")
  }
}
