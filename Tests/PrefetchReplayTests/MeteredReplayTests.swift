import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Metered sources: per session at most 1.5 times as many loads as without prefetch, with either eviction policy.
@Suite(.ownThread) struct MeteredReplayTests {
  /// - Returns: the scores without prefetch, and metered.
  @discardableResult
  private func expectBound(
    _ sessions: [RecordedSession], tiles: Int, _ source: ReplaySource, isHarsh: Bool = false
  ) -> (lru: ReplayScore, metered: ReplayScore) {
    var settings = ReplaySettings()
    settings.budget = tiles * settings.tier.tileCost
    settings.source = source
    settings.isHarsh = isHarsh
    let (lru, distance) = (settings.replay(sessions, policy: .lru), settings.replay(sessions, policy: .distance))
    settings.isMetered = true
    let metered = settings.replay(sessions, policy: .default)
    for (index, line) in metered.sessions.enumerated() {
      let unaided = min(lru.sessions[index].score.loads, distance.sessions[index].score.loads)
      #expect(
        Double(line.score.loads) <= 1.5 * Double(unaided),
        """
        \(line.session), \(tiles) tiles, \(source), harsh \(isHarsh): \(line.score.loads) loads, \(unaided) without \
        prefetch
        """
      )
    }
    return (lru.total, metered.total)
  }

  @Test(arguments: [128, 1024], ReplaySource.allCases)
  func generatedSessionsStayWithinTheBound(_ tiles: Int, _ source: ReplaySource) {
    let seeds = TestEffort.isFull ? 1...40 : 1...2
    let sessions = seeds.map { SessionGenerator.session(seed: UInt64($0), gestureCount: TestEffort.isFull ? 40 : 8) }
    let (lru, metered) = expectBound(sessions, tiles: tiles, source)
    // The additional loads must raise the hit rate.
    #expect(metered.blankTileFrames < lru.blankTileFrames && metered.prefetchesUsed > 0, "\(metered) \(lru)")
  }

  /// A user who only flicks and returns makes much of the prefetch useless.
  @Test func wastefulSessionStaysWithinTheBound() throws {
    var lines = [#"{"op": "start", "t": 0, "z": 14, "x": 0.52, "y": 0.36}"#]
    for turn in 0..<30 {
      let time = Double(turn) * 2 + 1
      lines.append(
        #"""
        {"op": "pan", "t": \#(time), "dur": 0.2, "dx": \#(turn % 2 == 0 ? 0.3 : -0.3), "dy": 0, "fling": 1, \#
        "fdx": \#(turn % 2 == 0 ? 2 : -2), "fdy": 0, "frun": 0.1}
        """#
      )
    }
    let session = try SessionReader.read(Array(lines.joined(separator: "\n").utf8), name: "flicks", file: "flicks")
    for tiles in [128, 512] { expectBound([session], tiles: tiles, .network) }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage))) func recordedSessions() throws {
    let all = try RecordedSession.read([TestData.url("traces/open").path])
    let people = all.filter { TestEffort.isFull ? $0.source.hasPrefix("fc") : $0.name == "fc2016_u03" }
    expectBound(people, tiles: 1024, .network)
    guard TestEffort.isFull else { return }
    expectBound(all.filter { $0.source == "syn" }, tiles: 1024, .network)
    expectBound(people, tiles: 256, .local)
    expectBound(people, tiles: 512, .local, isHarsh: true)
  }
}
