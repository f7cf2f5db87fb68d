package import PurchaseLedger
import Synchronization

/// The clock of simulated stores, in milliseconds since 1970. It moves only when something happens: a request, a wait
/// before a repetition, the next night.
package final class SimulatedClock: Sendable {
  private let time: Mutex<Int64>

  package init(at time: Int64) { self.time = Mutex(time) }

  package var now: Int64 { time.withLock(\.self) }

  package func advance(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }

  /// Moves to a time, unless it is past.
  package func advance(to time: Int64) { self.time.withLock { $0 = max($0, time) } }

  /// A clock of the ledger's machine, which may be wrong.
  ///
  /// - Parameter ahead: How far it is ahead of the stores', in milliseconds.
  package func ledgerClock(ahead: Int64 = 0) -> LedgerClock { LedgerClock(now: { self.now + ahead }) }
}
