import Synchronization

/// Connections that are open, counted for each address.
final class AddressCounts: Sendable {
  private let max: Int
  private let exempt: Set<String>
  private let counts = Mutex<[String: Int]>([:])

  /// - Parameter exempt: addresses that may have any number: those of proxies, through which everybody comes.
  init(max: Int, exempt: Set<String>) { (self.max, self.exempt) = (max, exempt) }

  /// One connection of an address; it counts as long as this object lives.
  final class Seat: Sendable {
    private let counts: AddressCounts
    private let address: String

    fileprivate init(_ counts: AddressCounts, _ address: String) { (self.counts, self.address) = (counts, address) }

    deinit { counts.leave(address) }
  }

  /// Nil when the address has as many already.
  func take(_ address: String) -> Seat? {
    let isAllowed = counts.withLock { counts in
      guard counts[address, default: 0] < max || exempt.contains(address) else { return false }
      counts[address, default: 0] += 1
      return true
    }
    return isAllowed ? Seat(self, address) : nil
  }

  private func leave(_ address: String) {
    counts.withLock { counts in
      let count = counts[address, default: 1] - 1
      counts[address] = count > 0 ? count : nil
    }
  }
}
