import Support
import Synchronization

/// The store's clock, which decides what its lists cover: this machine's, corrected by the `Date` field of the last
/// answer.
package final class StoreClock: Sendable {
  private let own: LedgerClock
  private let difference = Mutex<Int64?>(nil)

  init(_ own: LedgerClock) { self.own = own }

  /// Milliseconds since 1970.
  var now: Int64 { own.now() - (ahead ?? 0) }

  /// How far this machine's clock is ahead, in milliseconds. Nil before the first answer that says a time.
  var ahead: Int64? { difference.withLock { $0 } }

  /// Remembers the time of an answer. It is cut to the second, so the store's clock is never taken to be later.
  func note(date: String) {
    guard let time = HTTPDate.milliseconds(date) else { return }
    difference.withLock { $0 = own.now() - time }
  }

  /// A difference above this is said.
  static let tolerance: Int64 = 60_000

  /// The difference in words, where it matters.
  package static func text(_ ahead: Int64?) -> String? {
    guard let ahead, abs(ahead) > tolerance else { return nil }
    let seconds = abs(ahead) / 1000
    let size =
      seconds < 7200
      ? "\(seconds / 60) min \(seconds % 60) s"
      : seconds < 172_800 ? "\(seconds / 3600) h" : "\(seconds / 86_400) days"
    return "this machine's clock is \(size) \(ahead > 0 ? "ahead of" : "behind") the store's"
  }
}
