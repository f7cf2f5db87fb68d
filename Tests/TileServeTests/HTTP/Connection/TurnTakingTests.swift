import NIOCore
import TestSupport
import Testing

@testable import TileServe

/// How often an event loop gives up its turn, in virtual time.
@Suite(.ownThread) struct TurnTakingTests {
  /// Gives turns for a second: every answer takes 10 us, and every `longEvery`th turn of the others 4 ms instead of 300 us (0: none).
  ///
  /// - Returns: how many turns, and the share of the time that the others had.
  private func second(longEvery: Int) -> (turns: Int, share: Double) {
    var turns = TurnTaking()
    var now = NIODeadline.uptimeNanoseconds(1)
    let start = now
    var count = 0
    var given = TimeAmount.zero
    while now - start < .seconds(1) {
      now = now + .microseconds(10)
      guard turns.answered(now: { now }) else { continue }
      count += 1
      let turn: TimeAmount = longEvery > 0 && count.isMultiple(of: longEvery) ? .milliseconds(4) : .microseconds(300)
      turns.gaveTurn(at: now, until: now + turn)
      now = now + turn
      given = given + turn
    }
    return (count, Double(given.nanoseconds) / 1e9)
  }

  @Test func clientsGetATurnAfterEachBatch() {
    // 320 us of answers, 300 us of theirs
    #expect((1600...1620).contains(second(longEvery: 0).turns))
  }

  @Test func aProgramThatNeverWaitsHasLittleOfThem() {
    let (turns, share) = second(longEvery: 1)
    #expect((10...20).contains(turns))
    #expect(share < 0.08)
  }

  @Test func everySecondTurnLongIsAProgramToo() {
    #expect(second(longEvery: 2).share < 0.12)
  }

  /// What a busy host does to its guests.
  @Test func aLongTurnNowAndThenChangesLittle() {
    #expect(second(longEvery: 100).turns > 1300)
  }
}
