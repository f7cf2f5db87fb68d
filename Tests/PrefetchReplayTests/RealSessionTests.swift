import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// The sessions of ten people: this replay gives the figures of the reference simulator, and the policy what docs/prefetch.md says.
///
/// `CACHE_LONG=1` replays all rows; otherwise the quick ones.
@Suite(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage))) struct RealSessionTests {
  private static let isLong = ProcessInfo.processInfo.environment["CACHE_LONG"] == "1"

  private func sessions() throws -> [MapSession] {
    try MapSession.read([TestData.url("traces/open").path]).filter { $0.source == "fc2016" }
  }

  private func mean(
    _ policy: ReplayPolicy, tiles: Int, _ change: (inout ReplaySettings) -> Void = { _ in }
  ) throws -> (blank: Double, loads: Double) {
    var settings = ReplaySettings()
    change(&settings)
    settings.budget = tiles * settings.tier.tileCost
    let report = settings.replay(try sessions(), policy: policy)
    let count = Double(report.sessions.count)
    return (Double(report.total.blankTileFrames) / count, Double(report.total.loads) / count)
  }

  @Test func theReplayAgreesWithTheReference() throws {
    let local = try mean(.lru, tiles: 256)
    #expect(abs(local.blank - 7890.3) < 0.02 * 7890.3 && abs(local.loads - 3390.8) < 0.02 * 3390.8, "\(local)")
    let harsh = try mean(.lru, tiles: 512) { $0.isHarsh = true }
    #expect(abs(harsh.blank - 3855.8) < 0.02 * 3855.8, "\(harsh)")
    let network = try mean(.lru, tiles: 1024) { $0.source = .network }
    #expect(abs(network.blank - 33354.5) < 0.02 * 33354.5, "\(network)")
  }

  @Test func theOracleAgreesWithTheReference() throws {
    let oracle = try mean(.oracle, tiles: 256)
    #expect(oracle.blank < 1 && abs(oracle.loads - 3824.5) < 0.05 * 3824.5, "\(oracle)")
  }

  @Test func ourPolicyIsAheadOfTheFinger() throws {
    let local = try mean(.default, tiles: 256)
    #expect(local.blank <= 390 && local.loads <= 6600, "\(local)")
  }

  @Test(.enabled(if: isLong, "CACHE_LONG=1 replays all rows")) func ourPolicyHoldsInEveryRow() throws {
    #expect(try mean(.default, tiles: 512).blank <= 95)
    #expect(try mean(.default, tiles: 512) { $0.isHarsh = true }.blank <= 960)
    #expect(try mean(.default, tiles: 1024) { $0.source = .network }.blank <= 20_300)
    let palette = try mean(.default, tiles: 252) { $0.tier = .palette }
    #expect(palette.blank <= 500, "\(palette)")
  }
}
