import TestSupport
import Testing

@testable import TileServe

/// No interval of a second has more requests than the limit.
@Suite struct RequestPaceTests {
  @Test func noSecondHasMoreRequests() throws {
    var pace = RequestPace(perSecond: 3)
    var starts: [Double] = []
    for index in 0..<50 {
      let start = pace.begin(at: Double(index) * 0.1, until: 100)
      starts.append(try #require(start))
    }
    #expect(Array(starts.prefix(3)) == [0, 0.1, 0.2])
    for (first, fourth) in zip(starts, starts.dropFirst(3)) { #expect(fourth - first > 1 - 1e-9) }
    #expect(starts == starts.sorted())
  }

  @Test func requestThatCannotWaitReservesNothing() {
    var pace = RequestPace(perSecond: 1)
    var starts = [pace.begin(at: 10, until: 10)]
    for end in [10.5, 10.9, 20] { starts.append(pace.begin(at: 10.5, until: end)) }
    #expect(starts == [10, nil, nil, 11])
  }
}

@Suite(.ownThread) struct UpstreamHealthTests {
  private func asks(_ health: inout UpstreamHealth, _ now: Double, taking: Bool) -> Bool {
    health.mayAsk(at: now, taking: taking)
  }

  private let gone = UpstreamFailure(.unreachable, "gone")

  @Test func threeFailuresOpenTheCircuit() {
    var health = UpstreamHealth()
    for second in 0..<3 {
      #expect(asks(&health, Double(second), taking: true))
      health.failed(gone, at: Double(second))
    }
    #expect(!asks(&health, 2.5, taking: true))
    // A single request tests whether the upstream is back; the others fail at once.
    #expect(asks(&health, 3.1, taking: true))
    #expect(!asks(&health, 3.1, taking: true))
    health.failed(gone, at: 3.2)
    // Twice as long.
    #expect(!asks(&health, 5.1, taking: true))
    #expect(asks(&health, 5.3, taking: true))
    health.succeeded()
    #expect(asks(&health, 5.3, taking: true) && asks(&health, 5.3, taking: true))
  }

  @Test func pauseIsLimited() {
    var health = UpstreamHealth()
    var now = 0.0
    var longest = 0.0
    for _ in 0..<40 {
      let start = now
      while !asks(&health, now, taking: true) { now += 0.5 }
      longest = max(longest, now - start)
      health.failed(gone, at: now)
    }
    #expect((59...61).contains(longest))
  }

  /// A hundred requests in progress when the network fails count as one failure, not as a hundred doublings.
  @Test func concurrentFailuresCountOnce() {
    var health = UpstreamHealth()
    for _ in 0..<100 { health.failed(gone, at: 10) }
    #expect(asks(&health, 11.1, taking: false))
  }

  @Test func retryAfterIsHonoured() {
    var health = UpstreamHealth()
    health.failed(UpstreamFailure(.failed, "busy", retryAfter: 120), at: 0)
    #expect(!asks(&health, 119, taking: true) && asks(&health, 121, taking: true))
    health.succeeded()
    health.failed(UpstreamFailure(.failed, "busy", retryAfter: 1_000_000), at: 200)
    #expect(asks(&health, 200 + 3601, taking: true))
  }

  /// A forbidden or invalid tile does not count as a failure of the server.
  @Test func refusalsCountAsReachable() {
    var health = UpstreamHealth()
    for second in 0..<20 {
      #expect(asks(&health, Double(second), taking: true))
      health.failed(UpstreamFailure(second % 2 == 0 ? .refused : .invalid, "no"), at: Double(second))
    }
    #expect(asks(&health, 20, taking: true))
  }

  /// After any events in any order the upstream is tried again.
  @Test(arguments: UInt64(1)...10) func upstreamIsAlwaysTriedAgain(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var health = UpstreamHealth()
    var now = 0.0
    for _ in 0..<300 {
      now += Double.random(in: 0...20, using: &random)
      guard asks(&health, now, taking: true) else { continue }
      switch Int.random(in: 0..<5, using: &random) {
      case 0: health.succeeded()
      case 1: health.release()
      case 2: health.failed(UpstreamFailure(.refused, ""), at: now)
      case 3: health.failed(UpstreamFailure(.failed, "", retryAfter: Int.random(in: 0...100, using: &random)), at: now)
      default: health.failed(gone, at: now)
      }
      #expect(asks(&health, now + 4000, taking: false), "seed \(seed)")
    }
  }
}
