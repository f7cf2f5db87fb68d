import NIOCore

/// Decides when an event loop gives up the processor to the clients that it has answered.
///
/// A loop that always has requests to answer never waits, and keeps its processor until the scheduler preempts it after
/// milliseconds. If clients run on the same machine, what they were sent is still in the processor's cache when they
/// read it now.
struct EventLoopYieldPolicy {
  private var answers = 0
  private var pausesUntil = NIODeadline.uptimeNanoseconds(0)
  private var pause = EventLoopYieldPolicy.pauseMin

  /// Counts a response that was written directly to the socket.
  ///
  /// - Returns: true if the loop should yield now.
  mutating func answered(now: () -> NIODeadline = NIODeadline.now) -> Bool {
    answers += 1
    guard answers >= Self.answersMax else { return false }
    answers = 0
    return now() >= pausesUntil
  }

  /// Adapts to how long the loop was away after yielding.
  ///
  /// Clients read their responses and wait for more. A program that computes would use its whole time slice after every
  /// yield: then the loop stops yielding for a while. For a short time at first, since one long absence may have
  /// another cause (another guest of the host had the processor); a computing program makes every second or third
  /// absence long.
  mutating func gaveTurn(at start: NIODeadline, until end: NIODeadline) {
    if end - start > Self.clientsTurnMax {
      pausesUntil = end + pause
      pause = min(pause * 2, Self.pauseMax)
    } else {
      pause = max(.nanoseconds(pause.nanoseconds / 8 * 7), Self.pauseMin)
    }
  }

  /// A smaller number lowers the throughput, a larger one raises the slowest latencies (docs/reference/performance.md).
  private static let answersMax = 32
  /// Measured: clients take 0.3 to 0.6 ms for a batch, up to 1.5; a time slice of a computing program is 3 ms and more.
  private static let clientsTurnMax = TimeAmount.milliseconds(2)
  /// About one time slice of a computing program.
  private static let pauseMin = TimeAmount.milliseconds(4)
  /// So long that an absence of 4 ms costs 4%.
  private static let pauseMax = TimeAmount.milliseconds(100)
}
