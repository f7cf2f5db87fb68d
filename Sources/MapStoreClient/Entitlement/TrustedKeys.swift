import MapStoreWire
import Synchronization

/// The keys that are trusted now.
final class TrustedKeys: Sendable {
  private let keys: Mutex<[GrantKey]>

  init(_ keys: [GrantKey]) { self.keys = Mutex(keys) }

  var current: [GrantKey] {
    get { keys.withLock { $0 } }
    set { keys.withLock { $0 = newValue } }
  }
}
