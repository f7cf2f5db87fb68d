import Support

/// Memory for the pictures that threads decode and draw at a time.
///
/// Work takes all that it needs at once: two that each held a part and waited for more would wait for ever. First come,
/// first served, so that small pictures do not hold up a large one for ever.
package final class PixelBudget: @unchecked Sendable {
  package let byteCountMax: Int
  private let condition = ThreadCondition()
  /// Guarded by the condition, like what follows.
  private var free: Int
  /// The numbers of those that wait.
  private var waiting: [Int] = []
  private var lastNumber = 0
  private var freeMin: Int

  package init(byteCountMax: Int) {
    self.byteCountMax = byteCountMax
    (free, freeMin) = (byteCountMax, byteCountMax)
  }

  /// Works when there is memory for it. Blocks until then.
  ///
  /// - Parameter byteCount: at most ``byteCountMax``.
  /// - Throws: `CancellationError`; what the closure throws.
  package func using<Result>(_ byteCount: Int, _ body: () throws -> Result) throws -> Result {
    try take(byteCount)
    defer { give(byteCount) }
    return try body()
  }

  package func take(_ byteCount: Int) throws {
    precondition(byteCount <= byteCountMax)
    try condition.withLock {
      lastNumber += 1
      let number = lastNumber
      waiting.append(number)
      defer {
        waiting.removeAll { $0 == number }
        condition.broadcast()
      }
      while waiting[0] != number || free < byteCount {
        try Cancellation.check()
        condition.wait()
      }
      free -= byteCount
      freeMin = min(freeMin, free)
    }
  }

  package func give(_ byteCount: Int) {
    condition.withLock {
      free += byteCount
      condition.broadcast()
    }
  }

  /// Those that wait, and the most bytes that were used at a time.
  package var use: (waiting: Int, peak: Int) { condition.withLock { (waiting.count, byteCountMax - freeMin) } }
}
