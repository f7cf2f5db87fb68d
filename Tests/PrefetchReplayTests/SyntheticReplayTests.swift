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

  /// A day with CACHE_LONG=1, otherwise a quarter of an hour. The last hour, or quarter, must not be worse than the first, and the process no larger.
  ///
  /// The long version is to run alone: it looks at the memory of the whole process.
  @Test func aDayNeitherLeaksNorDrifts() {
    let isLong = ProcessInfo.processInfo.environment["CACHE_LONG"] == "1"
    let (count, part) = isLong ? (15_000, 15_000 / 24) : (240, 60)
    var settings = ReplaySettings()
    settings.budget = 128 << 18
    // A shorter session of the same seed is the beginning of the longer one.
    func replay(_ count: Int) -> ReplayScore {
      settings.replay([SessionGenerator.session(seed: 11, gestureCount: count)], policy: .default).total
    }
    let first = replay(part)
    let before = Self.anonymousKilobytes
    let whole = replay(count)
    let growth = Self.anonymousKilobytes - before
    #expect(whole.bytesPeak <= settings.budget && whole.hits <= whole.requests)
    let rest = replay(count - part)
    func blanks(_ frames: Int, _ requests: Int) -> Double { Double(frames) / Double(requests) }
    let early = blanks(first.blankTileFrames, first.requests)
    let late = blanks(whole.blankTileFrames - rest.blankTileFrames, whole.requests - rest.requests)
    let mean = blanks(whole.blankTileFrames, whole.requests)
    #expect(late < 1.5 * max(early, mean) + 0.1, "\(late) late, \(early) early, \(mean) overall")
    if isLong {
      // The session itself, frame by frame, is most of what a day takes; it is freed at the end.
      print("a day: blank tile-frames a request: first hour \(early), all \(mean), last hour \(late)")
      print("a day: RssAnon \(growth) kB more")
      #expect(growth < 64 << 10)
    }
  }

  /// RssAnon of the process; 0 where the system does not say.
  private static var anonymousKilobytes: Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }

  @Test func aReportIsOneLineOfJSON() {
    let report = ReplayReport(sessions: [.init(session: "a \"b\"", score: ReplayScore())])
    #expect(
      report.json == #"""
        {"sessions":[{"session":"a \"b\"","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,"stallMs":0,"precision":null,"loads":0,"absent":0}],"total":{"session":"total","requests":0,"hitRate":0,"blankTileFrames":0,"hardBlanks":0,"stallMs":0,"precision":null,"loads":0,"absent":0}}
        """#)
  }
}
