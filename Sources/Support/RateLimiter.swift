import Synchronization

/// Limits how often something happens for each key: a token bucket per key, which holds `burst`
/// tokens at most and gets `perMinute`.
package final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var filledAt: ContinuousClock.Instant
  }

  /// Strangers choose the keys.
  private static let bucketsMax = 100_000

  private let burst: Double
  private let perMinute: Double
  private let buckets = Mutex<[String: Bucket]>([:])
  /// When a full table was cleaned. Cleaning it at each request of a flood would cost more than answering them.
  private let cleanedAt = Mutex(ContinuousClock.now - .seconds(60))

  package init(burst: Int, perMinute: Int) { (self.burst, self.perMinute) = (Double(burst), Double(perMinute)) }

  /// Takes tokens, or none when there are too few.
  ///
  /// - Parameters:
  ///   - count: more than `burst` are never available.
  ///   - reserve: tokens that must be left, for callers that ask without a reserve.
  /// - Returns: nil when they were taken, else the seconds after which they are available.
  package func take(_ key: String, count: Int = 1, leaving reserve: Int = 0) -> Int? {
    let (now, wanted) = (ContinuousClock.now, Double(count + reserve))
    return buckets.withLock { buckets in
      if buckets.count >= Self.bucketsMax, isTimeToClean(now) {
        buckets = buckets.filter { tokens($0.value, now) < burst }
      }
      // Still full of busy ones: an attack from everywhere. New keys wait, so that the table stays bounded.
      if buckets.count >= Self.bucketsMax, buckets[key] == nil { return 60 }
      let available = buckets[key].map { tokens($0, now) } ?? burst
      guard available >= wanted else {
        return max(1, Int(((wanted - available) * 60 / max(1, perMinute)).rounded(.up)))
      }
      buckets[key] = Bucket(tokens: available - Double(count), filledAt: now)
      return nil
    }
  }

  private func isTimeToClean(_ now: ContinuousClock.Instant) -> Bool {
    cleanedAt.withLock { last in
      guard now - last >= .seconds(1) else { return false }
      last = now
      return true
    }
  }

  private func tokens(_ bucket: Bucket, _ now: ContinuousClock.Instant) -> Double {
    min(burst, bucket.tokens + (now - bucket.filledAt) / .seconds(60) * perMinute)
  }
}

/// Spaces our own requests evenly, as the limits of other services ask for.
package actor RequestPacer {
  private let interval: Duration
  private var next = ContinuousClock.now

  /// - Parameter rate: requests a second.
  package init(rate: Double) { interval = .seconds(1 / max(rate, 0.001)) }

  /// Returns when the next request may be made.
  package func wait() async throws {
    let turn = max(next, .now)
    next = turn + interval
    if turn > .now { try await Task.sleep(until: turn, clock: .continuous) }
  }
}
