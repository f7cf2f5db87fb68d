import NIOCore

/// When an event loop gives up its turn to those it has answered.
///
/// A loop that is always asked for what is ready would never wait for anything, and keep its processor until the system takes it away after milliseconds.
/// The clients are on the same machine as a rule: what they were sent is in the processor's cache if they get it now.
struct TurnTaking {
  private var answers = 0
  private var pausesUntil = NIODeadline.uptimeNanoseconds(0)
  private var pause = TurnTaking.pauseMin

  /// Counts an answer that was ready and went straight to the system.
  ///
  /// - Returns: true when the turn should be given up now.
  mutating func answered(now: () -> NIODeadline = NIODeadline.now) -> Bool {
    answers += 1
    guard answers >= Self.answersMax else { return false }
    answers = 0
    return now() >= pausesUntil
  }

  /// Learns how long others had the turn.
  ///
  /// Clients read what there is and wait for more. Whoever stays longer has work of its own, and would be given every turn to its end: then turns are kept for
  /// a while. For a short one at first, since one long turn may be the machine's fault (another guest of its host had the processor); a program beside us makes
  /// every second or third one long.
  mutating func gaveTurn(at start: NIODeadline, until end: NIODeadline) {
    if end - start > Self.clientsTurnMax {
      pausesUntil = end + pause
      pause = min(pause * 2, Self.pauseMax)
    } else {
      pause = max(.nanoseconds(pause.nanoseconds / 8 * 7), Self.pauseMin)
    }
  }

  /// Fewer cost requests a second, more make the slowest ones slower (docs/performance.md).
  private static let answersMax = 32
  /// Clients were seen to take 0.3 to 0.6 ms for a batch, up to 1.5; a program that never waits has 3 ms and more.
  private static let clientsTurnMax = TimeAmount.milliseconds(2)
  /// About one turn of a program that never waits.
  private static let pauseMin = TimeAmount.milliseconds(4)
  /// So long that a turn of 4 ms costs a twentieth.
  private static let pauseMax = TimeAmount.milliseconds(100)
}
