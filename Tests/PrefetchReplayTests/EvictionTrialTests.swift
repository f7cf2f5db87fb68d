import Foundation
import PrefetchReplay
import TestSupport
import Testing

/// Eviction alone, with room for 128 tiles off the screen.
@Suite(.ownThread) struct EvictionTrialTests {
  private static let settings: ReplaySettings = {
    var settings = ReplaySettings()
    settings.budget = 128 * settings.tier.tileCost
    return settings
  }()

  @Test func policiesComeInTheirOrder() {
    let sessions = (1...2).map { SessionGenerator.session(seed: UInt64($0), gestureCount: 20) }
    let report = Self.settings.replayEviction(sessions)
    let total = report.total
    #expect(total.requests == report.sessions.map(\.requests).reduce(0, +))
    #expect(total.lru < total.default && total.default < total.belady && total.belady < total.requests, "\(total)")
    for line in report.sessions {
      #expect(line.belady >= max(line.lru, line.reference, line.default), "\(line)")
    }
  }

  @Test func moreRoomIsNotWorse() {
    let session = SessionGenerator.session(seed: 4, gestureCount: 20)
    var large = Self.settings
    large.budget *= 4
    let (few, many) = (Self.settings.replayEviction([session]).total, large.replayEviction([session]).total)
    #expect(many.lru >= few.lru && many.belady >= few.belady && many.default >= few.default, "\(few) \(many)")
  }

  /// Hit rates of the reference simulator for one person: least recently used, by distance, Belady's rule.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func theReferenceIsMet() throws {
    let (lru, distance, belady) = (0.184, 0.210, 0.265)
    let session = try MapSession.read([TestData.url("traces/open/fc2016_u03.jsonl").path])
    let total = Self.settings.replayEviction(session).total
    let requests = Double(total.requests)
    for (hits, expected) in [(total.lru, lru), (total.reference, distance), (total.belady, belady)] {
      #expect(abs(Double(hits) / requests - expected) <= 0.05 * expected, "\(total)")
    }
    #expect((total.share(total.default) ?? 0) >= 0.45, "\(total)")
  }
}
