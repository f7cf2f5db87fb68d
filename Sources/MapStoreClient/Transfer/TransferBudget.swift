import Synchronization

/// Counts the bytes of a ``ByteBudget``, in the state of the regions.
final class TransferBudget: Sendable {
  private struct Count: Equatable {
    var start: Int64 = 0
    var bytes = 0
  }

  private static let setting = "transfer.count"
  private let state: RegionDatabase
  private let control: TransferControl
  private let clock: DeviceClock
  private let count: Mutex<(current: Count, stored: Count)>

  init(state: RegionDatabase, control: TransferControl, clock: DeviceClock) {
    (self.state, self.control, self.clock) = (state, control, clock)
    let words = ((try? state.setting(Self.setting)) ?? nil)?.split(separator: " ").compactMap { Int64($0) } ?? []
    let stored = words.count == 2 ? Count(start: words[0], bytes: Int(max(0, words[1]))) : Count()
    count = Mutex((stored, stored))
  }

  /// What the policy counts now; nil if it counts nothing.
  private var budget: ByteBudget? {
    guard let budget = control.policy.budget else { return nil }
    return budget.countsMeteredOnly && !control.network.isMetered ? nil : budget
  }

  /// - Throws: ``MapStoreError`` `.overBudget` if the rest of a file does not fit what is left.
  func check(_ wanted: WantedFile, received: Int) throws {
    guard let budget else { return }
    let left = left(of: budget)
    let needed = wanted.bytes - received
    if needed > left { throw Self.failure(wanted.part, "needs \(needed) bytes more", left: left) }
  }

  /// Counts bytes that have arrived.
  ///
  /// - Throws: ``MapStoreError`` `.overBudget` if nothing is left.
  func take(_ bytes: Int, for part: RegionPart) throws {
    guard let budget else { return }
    let left = left(of: budget)
    count.withLock { $0.current.bytes = min($0.current.bytes + bytes, 1 << 60) }
    if left < bytes { throw Self.failure(part, "the download has used up its bytes", left: 0) }
  }

  /// Stores the count; a kill loses what was not stored.
  func store() throws {
    let current = count.withLock { $0.current == $0.stored ? nil : $0.current }
    guard let current else { return }
    try RegionDatabase.ifRoom { try state.set(Self.setting, "\(current.start) \(current.bytes)") }
    count.withLock { $0.stored = current }
  }

  private func left(of budget: ByteBudget) -> Int {
    let now = clock.now()
    return count.withLock { count in
      let end = count.current.start + Int64(min(max(budget.seconds, 0), 1 << 40)) * 1000
      // A clock that was set back begins no new period.
      if count.current.bytes == 0 || now >= end { count.current = Count(start: now) }
      return max(0, budget.bytes - count.current.bytes)
    }
  }

  private static func failure(_ part: RegionPart, _ what: String, left: Int) -> MapStoreError {
    MapStoreError(
      .overBudget, part.description, "\(what), and \(left) are left of the budget for downloads",
      remedy: "continue over a network that is not counted, allow more bytes, or wait for the next period")
  }
}
