public import Synchronization

/// A part of a cache's tiles, with a lock of its own: threads that hit different parts do not meet.
///
/// The dictionary does not own its tiles, the books do: so a hit counts no references, which would be the most expensive part of it. A tile is taken out here, under the lock, before the books let go of it.
@usableFromInline
struct CacheShard<Key: TileCacheKey, Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline typealias Tile = KeptTile<Key, Value>

  @usableFromInline
  struct Contents: @unchecked Sendable {
    @usableFromInline var tiles: [Key: Unmanaged<Tile>] = [:]
    @usableFromInline var hitCount = 0
    init() {}
  }

  @usableFromInline
  struct Hit {
    @usableFromInline let value: Value
    @usableFromInline let isFirstUse: Bool

    @usableFromInline
    init(value: Value, isFirstUse: Bool) {
      self.value = value
      self.isFirstUse = isFirstUse
    }
  }

  @usableFromInline let contents: Mutex<Contents>

  init() { contents = Mutex(Contents()) }

  /// The tile, counted as a hit and used now.
  ///
  /// - Complexity: O(1).
  @inlinable
  func hit(_ key: Key, now: UInt64) -> Hit? {
    contents.withLock { contents in
      guard let tile = contents.tiles[key] else { return nil }
      contents.hitCount &+= 1
      return tile._withUnsafeGuaranteedRef { tile in
        tile.touch(now)
        return Hit(value: tile.value, isFirstUse: tile.isUnused)
      }
    }
  }

  /// The tile, not counted.
  func peek(_ key: Key) -> Tile? { contents.withLock { $0.tiles[key]?.takeUnretainedValue() } }

  /// Puts in a tile that the caller keeps, or takes it out.
  func set(_ tile: Tile?, for key: Key) {
    let tile = tile.map { Unmanaged.passUnretained($0) }
    contents.withLock { $0.tiles[key] = tile }
  }

  var hitCount: Int { contents.withLock { $0.hitCount } }
}
