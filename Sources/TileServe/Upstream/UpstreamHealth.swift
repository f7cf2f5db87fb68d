/// A circuit breaker for one upstream: after three failures in a row no requests are sent, for twice as long each time,
/// and then a single one is tried.
///
/// Without a network, cached tiles are then served at once instead of after a timeout. Times are seconds of a clock
/// that only runs forwards.
struct UpstreamHealth {
  private var failuresInRow = 0
  private var awayUntil = 0.0
  private var pause = 0.0
  /// True while a single request tests whether the upstream is back.
  private var isProbing = false

  private static let failuresMax = 3
  private static let pauseMin = 1.0
  private static let pauseMax = 60.0
  /// The longest pause, whatever the upstream asks for.
  private static let retryAfterMax = 3600.0

  /// - Parameter taking: the caller sends a request and reports the outcome.
  mutating func mayAsk(at now: Double, taking: Bool) -> Bool {
    guard awayUntil > 0 else { return true }
    guard now >= awayUntil, !isProbing else { return false }
    if taking { isProbing = true }
    return true
  }

  /// The request was not sent after all.
  mutating func release() { isProbing = false }

  mutating func succeeded() { self = UpstreamHealth() }

  mutating func failed(_ failure: UpstreamFailure, at now: Double) {
    let wasProbing = isProbing
    isProbing = false
    // A server that refuses a tile, or sends invalid data for it, is reachable.
    guard [.failed, .timeout, .unreachable].contains(failure.outcome) else {
      if wasProbing { self = UpstreamHealth() }
      return
    }
    failuresInRow += 1
    if let wait = failure.retryAfter {
      awayUntil = max(awayUntil, now + min(max(Double(wait), Self.pauseMin), Self.retryAfterMax))
    } else if failuresInRow >= Self.failuresMax, wasProbing || awayUntil == 0 || now >= awayUntil {
      // Concurrent failures count as one.
      pause = min(max(pause * 2, Self.pauseMin), Self.pauseMax)
      awayUntil = now + pause
    }
  }
}

/// A rate limiter: no second has more than a number of requests. Times are seconds of a clock that only runs forwards.
struct RequestPace {
  /// The start times of the last requests, as many as a second may have; the oldest is next.
  private var starts: [Double]
  private var next = 0

  /// - Parameter perSecond: at least 1.
  init(perSecond: Int) { starts = Array(repeating: -.infinity, count: perSecond) }

  /// Reserves the first time from now on at which one more request may begin.
  ///
  /// - Returns: nil, without a reservation, if that is after `end`.
  mutating func begin(at now: Double, until end: Double) -> Double? {
    let start = max(now, starts[next] + 1)
    guard start <= end else { return nil }
    starts[next] = start
    next = (next + 1) % starts.count
    return start
  }
}
