import MapStoreWire
import PurchaseLedger
import Support
import Synchronization

/// Knows which reads of the ledger are over at once. They stay on the event loop: a turn on another thread costs ten
/// times as much as they do. A read that often takes longer, and one that nobody made yet, waits for its turn.
final class QuickReads: Sendable {
  /// What is read for a route; nil is the session of a request. Without an account, what all strangers ask.
  struct Kind: Hashable {
    let route: StoreRoute?
    let account: AccountID?
  }

  /// Whether a kind is quick. One slow read in four may be the fault of a busy machine; one in two is not.
  private final class Record {
    private var slowness: Int
    init(isSlow: Bool) { slowness = isSlow ? 4 : 0 }

    var isQuick: Bool { slowness < 3 }
    func add(isSlow: Bool) { slowness = isSlow ? min(slowness + 2, 4) : max(slowness - 1, 0) }
  }

  private let secondsMax: Double
  private let records = Mutex(LRUTable<Kind, Record>(byteCountMax: 8_192))

  /// - Parameter secondsMax: a client that has the largest share of requests holds a loop so long 200 times a second.
  init(secondsMax: Double) { self.secondsMax = secondsMax }

  func contains(_ kind: Kind) -> Bool {
    records.withLock { $0.value(for: kind)?.isQuick ?? false }
  }

  /// Does the work and notes how long it takes, waiting for the disk included.
  func timing<Value>(_ kind: Kind, _ work: () throws -> Value) rethrows -> Value {
    let start = MonotonicClock.seconds
    defer {
      let isSlow = MonotonicClock.seconds - start > secondsMax
      records.withLock { records in
        if let known = records.value(for: kind) {
          known.add(isSlow: isSlow)
        } else {
          records.insert(Record(isSlow: isSlow), for: kind, byteCount: 1)
        }
      }
    }
    return try work()
  }
}
