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

  /// How long a kind took the last two times, in seconds: once may be the fault of a busy machine.
  private final class Times {
    private var last, before: Double
    init(_ taken: Double) { (last, before) = (taken, taken) }

    var least: Double { min(last, before) }
    func add(_ taken: Double) { (last, before) = (taken, last) }
  }

  private let secondsMax: Double
  private let times = Mutex(LRUTable<Kind, Times>(byteCountMax: 8_192))

  /// - Parameter secondsMax: a client that has the largest share of requests holds a loop so long 200 times a second.
  init(secondsMax: Double) { self.secondsMax = secondsMax }

  func contains(_ kind: Kind) -> Bool {
    times.withLock { $0.value(for: kind).map { $0.least <= secondsMax } ?? false }
  }

  /// Does the work and notes how long it takes, waiting for the disk included.
  func timing<Value>(_ kind: Kind, _ work: () throws -> Value) rethrows -> Value {
    let start = MonotonicClock.seconds
    defer {
      let taken = MonotonicClock.seconds - start
      times.withLock { times in
        if let known = times.value(for: kind) {
          known.add(taken)
        } else {
          times.insert(Times(taken), for: kind, byteCount: 1)
        }
      }
    }
    return try work()
  }
}
