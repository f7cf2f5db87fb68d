public import Synchronization

/// A part of a cache's tiles, with a lock of its own: threads that hit different parts do not meet.
@usableFromInline
final class CacheShard<Key: TileCacheKey, Value: Sendable>: Sendable {
  @usableFromInline
  struct Contents {
    @usableFromInline var tiles: [Key: KeptTile<Key, Value>] = [:]
    @usableFromInline var hitCount = 0
    init() {}
  }

  @usableFromInline let contents: Mutex<Contents>

  init() { contents = Mutex(Contents()) }

  /// The tile, counted as a hit.
  ///
  /// - Complexity: O(1).
  @inlinable
  func hit(_ key: Key) -> KeptTile<Key, Value>? {
    contents.withLock { contents in
      guard let tile = contents.tiles[key] else { return nil }
      contents.hitCount &+= 1
      return tile
    }
  }

  /// The tile, not counted.
  func peek(_ key: Key) -> KeptTile<Key, Value>? { contents.withLock { $0.tiles[key] } }

  /// Puts a tile in or takes it out.
  func set(_ tile: KeptTile<Key, Value>?, for key: Key) { contents.withLock { $0.tiles[key] = tile } }

  var hitCount: Int { contents.withLock { $0.hitCount } }
}
