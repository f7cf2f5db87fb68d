/// Spaces requests evenly.
actor RateLimiter {
  private let interval: Duration
  private var next = ContinuousClock.now

  /// - Parameter rate: Requests a second.
  init(rate: Double) { interval = .seconds(1 / max(rate, 0.001)) }

  /// Returns when the next request may be made.
  func wait() async throws {
    let turn = max(next, .now)
    next = turn + interval
    if turn > .now { try await Task.sleep(until: turn, clock: .continuous) }
  }
}
