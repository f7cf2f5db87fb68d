import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Replays of made-up sessions, which need no test data.
@Suite(.ownThread) struct SyntheticReplayTests {
  private static let sessions = (1...2).map { SessionGenerator.session(seed: UInt64($0), gestureCount: 20) }

  private func replay(_ policy: ReplayPolicy, tiles: Int = 256, _ change: (inout ReplaySettings) -> Void = { _ in })
    -> ReplayScore
  {
    var settings = ReplaySettings()
    settings.budget = tiles * settings.tier.tileCost
    change(&settings)
    return settings.replay(Self.sessions, policy: policy).total
  }

  @Test func theSameSeedGivesTheSameSession() {
    #expect(SessionGenerator.session(seed: 5) == SessionGenerator.session(seed: 5))
    #expect(SessionGenerator.session(seed: 5) != SessionGenerator.session(seed: 6))
  }

  @Test func replaysRepeat() { #expect(replay(.default) == replay(.default)) }

  @Test func policiesComeInTheirOrder() {
    let (lru, belady, ours, oracle) = (replay(.lru), replay(.belady), replay(.default), replay(.oracle))
    #expect(lru.requests == ours.requests && lru.requests == oracle.requests)
    #expect(belady.hitRate > lru.hitRate)
    #expect(ours.blankTileFrames * 4 < lru.blankTileFrames, "\(ours) \(lru)")
    #expect(oracle.blankTileFrames * 10 < lru.blankTileFrames && oracle.blankTileFrames <= ours.blankTileFrames)
    for score in [lru, belady, ours, oracle] { #expect(score.bytesPeak <= 256 << 18) }
  }

  @Test func moreMemoryIsNeverWorseForLRU() {
    #expect(replay(.lru, tiles: 512).hits >= replay(.lru, tiles: 128).hits)
  }

  @Test func aDayNeitherLeaksNorDrifts() {
    // A day with CACHE_LONG=1, otherwise a quarter of an hour. The whole must not be worse than its first third.
    let count = ProcessInfo.processInfo.environment["CACHE_LONG"] == "1" ? 15_000 : 240
    let day = SessionGenerator.session(seed: 11, gestureCount: count)
    var settings = ReplaySettings()
    settings.budget = 128 << 18
    let score = settings.replay([day], policy: .default).total
    #expect(score.bytesPeak <= settings.budget && score.hits <= score.requests)
    let part = settings.replay([SessionGenerator.session(seed: 11, gestureCount: count / 3)], policy: .default).total
    let (whole, first) = (
      Double(score.blankTileFrames) / Double(score.requests), Double(part.blankTileFrames) / Double(part.requests)
    )
    #expect(whole < 1.5 * first + 0.05, "\(whole) \(first)")
  }

  @Test func aReportIsOneLineOfJSON() {
    let report = ReplayReport(sessions: [.init(session: "a \"b\"", score: ReplayScore())])
    #expect(
      report.json == #"""
        {"sessions":[{"session":"a \"b\"","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,"stallMs":0,"precision":null,"loads":0,"absent":0}],"total":{"session":"total","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,"stallMs":0,"precision":null,"loads":0,"absent":0}}
        """#)
  }
}
