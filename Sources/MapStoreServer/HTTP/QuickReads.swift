import MapStoreWire
import PurchaseLedger
import Support
import Synchronization

/// Knows which reads of the ledger are over at once. They stay on the event loop: a turn on another thread costs ten
/// times as much as they do. A read that took longer twice, and one that nobody made yet, waits for its turn.
final class QuickReads: Sendable {
  /// What is read for a route; nil is the session of a request. Without an account, what all strangers ask.
  struct Kind: Hashable {
    let route: StoreRoute?
    let account: AccountID?
  }

  private let secondsMax: Double
  /// How long each kind took the last two times: once may be the fault of a busy machine.
  private let seconds = Mutex(LRUTable<Kind, (last: Double, before: Double)>(byteCountMax: 8_192))

  /// - Parameter secondsMax: a client that has the largest share of requests holds a loop so long 200 times a second.
  init(secondsMax: Double) { self.secondsMax = secondsMax }

  func contains(_ kind: Kind) -> Bool {
    seconds.withLock { $0.value(for: kind).map { min($0.last, $0.before) <= secondsMax } ?? false }
  }

  /// Does the work and notes how long it takes, waiting for the disk included.
  func timing<Value>(_ kind: Kind, _ work: () throws -> Value) rethrows -> Value {
    let start = MonotonicClock.seconds
    defer {
      let taken = MonotonicClock.seconds - start
      seconds.withLock { $0.insert((taken, $0.value(for: kind)?.last ?? taken), for: kind, byteCount: 1) }
    }
    return try work()
  }
}
