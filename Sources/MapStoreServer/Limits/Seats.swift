import Synchronization

/// What is under way, counted for each holder: connections of an address, files on their way to an account.
final class Seats<Holder: Hashable & Sendable>: Sendable {
  private let max: Int
  private let exempt: Set<Holder>
  private let counts = Mutex<[Holder: Int]>([:])

  /// - Parameters:
  ///   - max: for each holder.
  ///   - exempt: holders that may have any number, such as proxies, through which everybody comes.
  init(max: Int, exempt: Set<Holder> = []) { (self.max, self.exempt) = (max, exempt) }

  func isExempt(_ holder: Holder) -> Bool { exempt.contains(holder) }

  var total: Int { counts.withLock { $0.values.reduce(0, +) } }

  /// One of a holder's; it counts as long as this object lives, whatever becomes of the connection.
  final class Seat: Sendable {
    private let seats: Seats
    private let holder: Holder

    fileprivate init(_ seats: Seats, _ holder: Holder) { (self.seats, self.holder) = (seats, holder) }

    deinit { seats.leave(holder) }
  }

  /// Nil when the holder has as many already.
  func take(_ holder: Holder) -> Seat? {
    let isAllowed = counts.withLock { counts in
      guard counts[holder, default: 0] < max || exempt.contains(holder) else { return false }
      counts[holder, default: 0] += 1
      return true
    }
    return isAllowed ? Seat(self, holder) : nil
  }

  private func leave(_ holder: Holder) {
    counts.withLock { counts in
      let count = counts[holder, default: 1] - 1
      counts[holder] = count > 0 ? count : nil
    }
  }
}
