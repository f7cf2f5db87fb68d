extension BlockCache {
  /// Bytes taken out of a cache's budget for pixels held elsewhere, given back with the last reference.
  final class Reservation: Sendable {
    private let cache: BlockCache
    private let byteCount: Int

    fileprivate init(_ cache: BlockCache, _ byteCount: Int) {
      self.cache = cache
      self.byteCount = byteCount
    }

    deinit { cache.release(byteCount) }
  }

  /// Sets bytes aside, or returns nil when more than half of the budget would be.
  func reserve(_ byteCount: Int) -> Reservation? {
    guard take(byteCount) else { return nil }
    return Reservation(self, byteCount)
  }
}
