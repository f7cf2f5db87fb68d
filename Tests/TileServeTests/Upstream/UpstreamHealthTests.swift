import TestSupport
import Testing

@testable import TileServe

@Suite struct UpstreamHealthTests {
  private let gone = UpstreamFailure(.unreachable, "gone")

  @Test func threeFailuresAndItIsLeftAlone() {
    var health = UpstreamHealth()
    for second in 0..<3 {
      #expect(health.mayAsk(at: Double(second), taking: true))
      health.failed(gone, at: Double(second))
    }
    #expect(!health.mayAsk(at: 2.5, taking: true))
    // One finds out whether it is back; the others wait.
    #expect(health.mayAsk(at: 3.1, taking: true))
    #expect(!health.mayAsk(at: 3.1, taking: true))
    health.failed(gone, at: 3.2)
    // Twice as long.
    #expect(!health.mayAsk(at: 5.1, taking: true))
    #expect(health.mayAsk(at: 5.3, taking: true))
    health.succeeded()
    #expect(health.mayAsk(at: 5.3, taking: true) && health.mayAsk(at: 5.3, taking: true))
  }

  @Test func thePauseHasAnEnd() {
    var health = UpstreamHealth()
    var now = 0.0
    var longest = 0.0
    for _ in 0..<40 {
      let start = now
      while !health.mayAsk(at: now, taking: true) { now += 0.5 }
      longest = max(longest, now - start)
      health.failed(gone, at: now)
    }
    #expect((59...61).contains(longest))
  }

  /// A hundred requests that were under way when the network went are one failure, not a hundred doublings.
  @Test func failuresAtOnceCountOnce() {
    var health = UpstreamHealth()
    for _ in 0..<100 { health.failed(gone, at: 10) }
    #expect(health.mayAsk(at: 11.1, taking: false))
  }

  @Test func whoWantsToBeLeftAloneIs() {
    var health = UpstreamHealth()
    health.failed(UpstreamFailure(.failed, "busy", retryAfter: 120), at: 0)
    #expect(!health.mayAsk(at: 119, taking: true) && health.mayAsk(at: 121, taking: true))
    health.succeeded()
    health.failed(UpstreamFailure(.failed, "busy", retryAfter: 1_000_000), at: 200)
    #expect(health.mayAsk(at: 200 + 3601, taking: true))
  }

  /// A tile that is forbidden or rubbish says nothing of the server's health.
  @Test func refusalsAreAnswers() {
    var health = UpstreamHealth()
    for second in 0..<20 {
      #expect(health.mayAsk(at: Double(second), taking: true))
      health.failed(UpstreamFailure(second % 2 == 0 ? .refused : .invalid, "no"), at: Double(second))
    }
    #expect(health.mayAsk(at: 20, taking: true))
  }

  /// Whatever comes, in whatever order: it is always asked again one day.
  @Test(arguments: UInt64(1)...10) func neverStuck(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var health = UpstreamHealth()
    var now = 0.0
    for _ in 0..<300 {
      now += Double.random(in: 0...20, using: &random)
      guard health.mayAsk(at: now, taking: true) else { continue }
      switch Int.random(in: 0..<5, using: &random) {
      case 0: health.succeeded()
      case 1: health.release()
      case 2: health.failed(UpstreamFailure(.refused, ""), at: now)
      case 3: health.failed(UpstreamFailure(.failed, "", retryAfter: Int.random(in: 0...100, using: &random)), at: now)
      default: health.failed(gone, at: now)
      }
      #expect(health.mayAsk(at: now + 4000, taking: false), "seed \(seed)")
    }
  }
}
