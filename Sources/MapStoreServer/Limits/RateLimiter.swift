import Synchronization

/// Token buckets by key: each holds `burst` at most and is refilled with `perMinute`.
final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var filledAt: ContinuousClock.Instant
  }

  /// Strangers choose the keys.
  private static let bucketsMax = 100_000

  private let rate: StoreLimits.Rate
  private let buckets = Mutex<[String: Bucket]>([:])
  /// When a full table was cleaned; doing so at each of a flood's requests would cost more than answering them.
  private let cleanedAt = Mutex(ContinuousClock.now - .seconds(60))

  init(_ rate: StoreLimits.Rate) { self.rate = rate }

  /// Takes tokens, or none when there are not as many.
  ///
  /// - Parameter count: more than `burst` are never there.
  /// - Returns: nil when they were there, else the seconds after which they are.
  func take(_ key: String, count: Int = 1) -> Int? {
    let (now, wanted) = (ContinuousClock.now, Double(count))
    return buckets.withLock { buckets in
      if buckets.count >= Self.bucketsMax, isTimeToClean(now) {
        buckets = buckets.filter { tokens($0.value, now) < Double(rate.burst) }
      }
      // Still full of busy ones: an attack from everywhere. Strangers wait, so that the table stays bounded.
      if buckets.count >= Self.bucketsMax, buckets[key] == nil { return 60 }
      let available = buckets[key].map { tokens($0, now) } ?? Double(rate.burst)
      guard available >= wanted else {
        return max(1, Int(((wanted - available) * 60 / Double(max(1, rate.perMinute))).rounded(.up)))
      }
      buckets[key] = Bucket(tokens: available - wanted, filledAt: now)
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
    let minutes = (now - bucket.filledAt) / .seconds(60)
    return min(Double(rate.burst), bucket.tokens + minutes * Double(rate.perMinute))
  }
}
