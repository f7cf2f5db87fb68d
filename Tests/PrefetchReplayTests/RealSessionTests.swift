import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Sessions of ten people: the replay matches the reference simulator, and the policy meets the figures in
/// docs/explanation/prefetch.md.
///
/// `LONG_TESTS=full` replays all rows; otherwise the fast ones.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage))) struct RealSessionTests {

  private func sessions(_ users: [String]? = nil) throws -> [MapSession] {
    try MapSession.read([TestData.url("traces/open").path]).filter { session in
      session.source == "fc2016" && users.map { $0.contains { session.name.hasSuffix($0) } } ?? true
    }
  }

  private func replay(
    _ policy: ReplayPolicy, tiles: Int, users: [String]? = nil, _ change: (inout ReplaySettings) -> Void = { _ in }
  ) throws -> (blank: Double, loads: Double) {
    var settings = ReplaySettings()
    change(&settings)
    settings.budget = tiles * settings.tier.tileCost
    let report = settings.replay(try sessions(users), policy: policy)
    let count = Double(report.sessions.count)
    return (Double(report.total.blankTileFrames) / count, Double(report.total.loads) / count)
  }

  /// Two short sessions, for which the reference simulator gives 4,778 and 3,301 blank tile-frames.
  private static let few = ["u03", "u11"]

  @Test func shortSessionsMatchTheReferenceSimulator() throws {
    let reference = (4778.0 + 3301) / 2
    let lru = try replay(.lru, tiles: 256, users: Self.few)
    #expect(abs(lru.blank - reference) < 0.02 * reference, "\(lru)")
    let ours = try replay(.default, tiles: 256, users: Self.few)
    #expect(ours.blank < 0.05 * reference && ours.loads < 2 * lru.loads, "\(ours)")
  }

  @Test(.veryLong) func allRowsMatchTheReferenceSimulator() throws {
    let local = try replay(.lru, tiles: 256)
    #expect(abs(local.blank - 7890.3) < 0.02 * 7890.3 && abs(local.loads - 3390.8) < 0.02 * 3390.8, "\(local)")
    let harsh = try replay(.lru, tiles: 512) { $0.isHarsh = true }
    #expect(abs(harsh.blank - 3855.8) < 0.02 * 3855.8, "\(harsh)")
    let network = try replay(.lru, tiles: 1024) { $0.source = .network }
    #expect(abs(network.blank - 33354.5) < 0.02 * 33354.5, "\(network)")
    let oracle = try replay(.oracle, tiles: 256)
    #expect(oracle.blank < 1 && abs(oracle.loads - 3824.5) < 0.05 * 3824.5, "\(oracle)")
  }

  @Test(.veryLong) func policyMeetsTheDocumentedFiguresInEveryRow() throws {
    let local = try replay(.default, tiles: 256)
    #expect(local.blank <= 390 && local.loads <= 6600, "\(local)")
    #expect(try replay(.default, tiles: 512).blank <= 95)
    #expect(try replay(.default, tiles: 512) { $0.isHarsh = true }.blank <= 960)
    #expect(try replay(.default, tiles: 1024) { $0.source = .network }.blank <= 20_300)
    #expect(try replay(.default, tiles: 252) { $0.tier = .palette }.blank <= 500)
  }
}
