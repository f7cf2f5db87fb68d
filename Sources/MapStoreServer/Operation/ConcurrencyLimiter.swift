import Synchronization

/// Limits how many operations each holder has under way: downloads of an account.
final class ConcurrencyLimiter<Holder: Hashable & Sendable>: Sendable {
  private let max: Int
  private let counts = Mutex<[Holder: Int]>([:])

  /// - Parameter max: for each holder.
  init(max: Int) { self.max = max }

  var total: Int { counts.withLock { $0.values.reduce(0, +) } }

  /// One operation; it counts until it is over, and not longer than this object lives.
  final class Slot: Sendable {
    private let limiter: ConcurrencyLimiter
    private let holder: Holder
    private let isOver = Atomic(false)

    fileprivate init(_ limiter: ConcurrencyLimiter, _ holder: Holder) {
      (self.limiter, self.holder) = (limiter, holder)
    }

    deinit { end() }

    /// Frees the place of the operation; once.
    func end() {
      if !isOver.exchange(true, ordering: .relaxed) { limiter.leave(holder) }
    }
  }

  /// Nil if the holder is at its limit.
  func take(_ holder: Holder) -> Slot? {
    let isAllowed = counts.withLock { counts in
      guard counts[holder, default: 0] < max else { return false }
      counts[holder, default: 0] += 1
      return true
    }
    return isAllowed ? Slot(self, holder) : nil
  }

  private func leave(_ holder: Holder) {
    counts.withLock { counts in
      let count = counts[holder, default: 1] - 1
      counts[holder] = count > 0 ? count : nil
    }
  }
}
