import Synchronization

extension TileCache {
  /// Changes the budget. When it shrinks, tiles go at once, in the policy's order and those on a screen last; loads under way lose their reservation where there is
  /// nothing else to let go, and will be handed out only.
  ///
  /// - Complexity: O(n log n) when it shrinks.
  public func resize(to byteCountMax: Int) {
    books.withLock { books in
      books.byteCountMax = max(byteCountMax, 0)
      books.shrink(to: books.byteCountMax, in: self)
      books.dropReservations()
    }
  }

  /// Lets go of tiles, in the policy's order, until at most so many bytes are kept; the budget stays. Tiles on a screen stay.
  ///
  /// - Parameter keeping: true for tiles that are to stay whatever their cost: an app keeps the coarse zooms, so that there is always something to draw.
  /// - Complexity: O(n log n).
  public func trim(to byteCount: Int, keeping: (Key) -> Bool = { _ in false }) {
    // The caller is asked without the lock. What it keeps or pins in between stays all the same.
    let candidates = books.withLock { $0.ranked() }.filter {
      !keeping(unsafeDowncast($0, to: KeptTile<Key, Value>.self).key)
    }
    books.withLock { books in
      for tile in candidates where tile.pinCount == 0 {
        guard books.keptBytes > byteCount else { break }
        books.drop(tile, in: self)
      }
    }
  }

  /// Lets go of the tiles that were loaded ahead of need and that nobody wanted yet.
  ///
  /// - Complexity: O(n).
  public func dropUnused() {
    books.withLock { books in
      for tile in books.tiles where tile.isUnused && tile.pinCount == 0 {
        books.drop(tile, in: self)
      }
    }
  }

  /// Forgets a tile, also that there is none.
  public func remove(_ key: Key) {
    books.withLock { books in
      books.absent.remove(key)
      if let tile = peek(key) { books.drop(tile, in: self) }
    }
  }

  /// Forgets all tiles, those on a screen too, and all negative entries. Loads under way go on.
  public func removeAll() {
    books.withLock { books in
      books.absent.removeAll()
      for tile in books.tiles { books.drop(tile, in: self) }
    }
  }
}
