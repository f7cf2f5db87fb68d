import NIOCore
import TestSupport
import Testing

@testable import TileServe

/// How often an event loop yields, in virtual time.
@Suite(.ownThread) struct EventLoopYieldPolicyTests {
  /// Gives turns for ten seconds: every answer takes 10 us, and every `longEvery`th turn of the others `long` instead
  /// of 300 us (0: none).
  ///
  /// - Returns: how many turns a second, and the share of the time that the others had.
  private func tenSeconds(
    longEvery: Int, long: TimeAmount = .milliseconds(4)
  ) -> (turns: Int, share: Double) {
    var turns = EventLoopYieldPolicy()
    var now = NIODeadline.uptimeNanoseconds(1)
    let start = now
    var count = 0
    var given = TimeAmount.zero
    while now - start < .seconds(10) {
      now = now + .microseconds(10)
      guard turns.answered(now: { now }) else { continue }
      count += 1
      let turn: TimeAmount = longEvery > 0 && count.isMultiple(of: longEvery) ? long : .microseconds(300)
      turns.gaveTurn(at: now, until: now + turn)
      now = now + turn
      given = given + turn
    }
    return (count / 10, Double(given.nanoseconds) / 1e10)
  }

  @Test func loopYieldsAfterEachBatch() {
    // 320 us of answers, 300 us of theirs
    #expect((1600...1620).contains(tenSeconds(longEvery: 0).turns))
  }

  @Test func computingProgramGetsLittleTime() {
    let (turns, share) = tenSeconds(longEvery: 1)
    #expect((10...20).contains(turns))
    #expect(share < 0.08)
  }

  @Test func everySecondLongAbsenceCountsAsAComputingProgram() {
    #expect(tenSeconds(longEvery: 2).share < 0.12)
  }

  /// Many computing programs get time slices one after the other.
  @Test(arguments: [1, 3]) func manyComputingProgramsGetNoMoreThanHalf(longEvery: Int) {
    #expect(tenSeconds(longEvery: longEvery, long: .milliseconds(60)).share < 0.5)
  }

  /// As on a virtual machine of a busy host.
  @Test func occasionalLongAbsenceChangesLittle() {
    #expect(tenSeconds(longEvery: 100).turns > 1300)
  }
}
