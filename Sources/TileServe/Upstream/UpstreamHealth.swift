/// Whether an upstream should be asked: after three failures in a row it is left alone, for twice as long each time, and then asked once.
///
/// Without a network, answers from the growing bundle then come at once instead of after everybody's time limit. Times are seconds of a clock that only
/// runs forwards.
struct UpstreamHealth {
  private var failuresInRow = 0
  private var awayUntil = 0.0
  private var pause = 0.0
  /// True while one request finds out whether it is back.
  private var isProbing = false

  private static let failuresMax = 3
  private static let pauseMin = 1.0
  private static let pauseMax = 60.0
  /// Nobody is left alone for longer, whatever it asks for.
  private static let retryAfterMax = 3600.0

  /// - Parameter taking: the caller is going to ask, and says then how it went.
  mutating func mayAsk(at now: Double, taking: Bool) -> Bool {
    guard awayUntil > 0 else { return true }
    guard now >= awayUntil, !isProbing else { return false }
    if taking { isProbing = true }
    return true
  }

  /// The request was not made after all.
  mutating func release() { isProbing = false }

  mutating func succeeded() { self = UpstreamHealth() }

  mutating func failed(_ failure: UpstreamFailure, at now: Double) {
    let wasProbing = isProbing
    isProbing = false
    // A server that refuses one tile, or has rubbish for it, answers.
    guard [.failed, .timeout, .unreachable].contains(failure.outcome) else {
      if wasProbing { self = UpstreamHealth() }
      return
    }
    failuresInRow += 1
    if let wait = failure.retryAfter {
      awayUntil = max(awayUntil, now + min(max(Double(wait), Self.pauseMin), Self.retryAfterMax))
    } else if failuresInRow >= Self.failuresMax, wasProbing || awayUntil == 0 || now >= awayUntil {
      // Those that were under way when it went away count as one failure.
      pause = min(max(pause * 2, Self.pauseMin), Self.pauseMax)
      awayUntil = now + pause
    }
  }
}

/// When requests may begin, so that no second sees more of them than so many. Times are seconds of a clock that only runs forwards.
struct RequestPace {
  /// When the last ones began or are to begin, as many as a second may have; the oldest is next.
  private var starts: [Double]
  private var next = 0

  /// - Parameter perSecond: at least 1.
  init(perSecond: Int) { starts = Array(repeating: -.infinity, count: perSecond) }

  /// Takes the first moment from now on at which one more request may begin.
  ///
  /// - Returns: nil, and nothing is taken, when that is after `end`.
  mutating func begin(at now: Double, until end: Double) -> Double? {
    let start = max(now, starts[next] + 1)
    guard start <= end else { return nil }
    starts[next] = start
    next = (next + 1) % starts.count
    return start
  }
}
