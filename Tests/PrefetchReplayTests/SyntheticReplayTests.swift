import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Replays of generated sessions, which need no test data.
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

  @Test func sameSeedGivesTheSameSession() {
    #expect(SessionGenerator.session(seed: 5) == SessionGenerator.session(seed: 5))
    #expect(SessionGenerator.session(seed: 5) != SessionGenerator.session(seed: 6))
  }

  @Test func replaysAreDeterministic() { #expect(replay(.default) == replay(.default)) }

  @Test func policiesRankAsExpected() {
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

  /// In a quarter of an hour the last minutes are no worse than the first, and reports in between change nothing. `make
  /// bench-cache` replays a day.
  @Test func longSessionDoesNotDrift() {
    var settings = ReplaySettings()
    settings.budget = 128 << 18
    let session = SessionGenerator.session(seed: 11, gestureCount: 240)
    var scores = [ReplayScore()]
    let whole = settings.replay(session, policy: .default, every: 180) { scores.append($0) }
    #expect(whole == settings.replay([session], policy: .default).total)
    #expect(whole.bytesPeak <= settings.budget && whole.hits <= whole.requests)
    let parts = zip(scores.dropFirst(), scores).map { $0.since($1) }
    #expect(parts.count >= 4 && parts.allSatisfy { $0.requests > 0 })
    func blanks(_ part: ReplayScore) -> Double { Double(part.blankTileFrames) / Double(part.requests) }
    let (early, late) = (blanks(parts[0]), blanks(parts[parts.count - 1]))
    #expect(late < 1.5 * max(early, blanks(whole)) + 0.1, "\(late) late, \(early) early, \(blanks(whole)) overall")
  }

  @Test func reportIsOneLineOfJSON() {
    let report = ReplayReport(sessions: [.init(session: "a \"b\"", score: ReplayScore())])
    #expect(
      report.json == #"""
        {"sessions":[{"session":"a \"b\"","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,\#
        "stallMs":0,"precision":null,"loads":0,"absent":0}],\#
        "total":{"session":"total","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,\#
        "stallMs":0,"precision":null,"loads":0,"absent":0}}
        """#)
  }
}
