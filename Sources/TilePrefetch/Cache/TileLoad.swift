import Synchronization

/// Why a tile is loaded.
public enum LoadPurpose: Hashable, Sendable {
  /// Somebody waits for it.
  case demand
  /// It may be wanted soon.
  case prefetch
}

/// How a load ended.
public enum LoadOutcome<Value: Sendable>: Sendable {
  /// The tile, and what keeping it costs in bytes.
  case tile(Value, byteCount: Int)
  /// There is no such tile: that is kept for a while as well.
  case absent
  /// Not kept: the next one who wants the tile tries again. A cancelled load ends with `CancellationError`.
  case failed(any Error)
}

/// A load that a cache handed out. Whoever got it must end it once, with ``TileCache/finish(_:_:)``: until then its cost stays reserved and others wait for it.
public final class TileLoad<Key: TileCacheKey, Value: Sendable>: @unchecked Sendable {
  public typealias Waiter = @Sendable (Result<Value?, any Error>) -> Void

  public let key: Key

  /// Guarded by the books of the cache, as is what follows.
  var purpose: LoadPurpose
  /// The cost that is reserved; 0 when there was no room, and the tile will only be handed out.
  var reservedBytes: Int
  var waiters: [Int: Waiter] = [:]
  var nextWaiter = 0
  /// Demands that nobody waits for with a closure: the owner of the load itself.
  var ownerWaits: Bool
  var isOver = false
  var onCancel: (@Sendable () -> Void)?

  private let cancelled = Atomic(false)

  init(key: Key, purpose: LoadPurpose, reservedBytes: Int) {
    self.key = key
    self.purpose = purpose
    self.reservedBytes = reservedBytes
    ownerWaits = purpose == .demand
  }

  /// True when nobody wants the tile any more. A loader that can stop half-way looks here and fails with `CancellationError`; one that cannot may finish as usual.
  public var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() { cancelled.store(true, ordering: .releasing) }
}

/// What a wish for a tile came to; see ``TileCache/begin(_:byteCount:purpose:)``.
public enum LoadStart<Key: TileCacheKey, Value: Sendable>: Sendable {
  /// The tile is there.
  case kept(Value)
  /// The source was found not to have it, not long ago.
  case absent
  /// The caller's to load.
  case load(TileLoad<Key, Value>)
  /// Another's load is under way.
  case joined(TileLoad<Key, Value>)
  /// A prefetch for which there is no room.
  case refused
}
