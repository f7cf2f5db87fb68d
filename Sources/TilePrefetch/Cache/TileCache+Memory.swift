public import MemoryPressure
import Synchronization
public import TileIndex

extension TileCache {
  /// Changes the budget. When it shrinks, tiles go at once, in the policy's order and those on a screen last; loads under way lose their reservation where there is
  /// nothing else to let go, and will be handed out only.
  ///
  /// While memory is short (``adjust(to:keeping:)``) that is the budget for when there is enough again, and the share of it that goes with the level holds at once.
  ///
  /// - Parameter keeping: true for tiles that go after all others, but for those on a screen.
  /// - Complexity: O(n log n) when it shrinks.
  public func resize(to byteCountMax: Int, keeping: (Key) -> Bool = { _ in false }) {
    let late = entries(keeping)
    books.withLock { books in
      books.byteCountFull = max(byteCountMax, 0)
      books.fit(late, in: self)
    }
  }

  /// Answers a change of the level of memory pressure, which is ``PressureLevel/normal`` for a new cache.
  ///
  /// | level | |
  /// |---|---|
  /// | normal | the whole budget |
  /// | warning | half of it; tiles loaded ahead and not wanted yet go first, then those far from every screen |
  /// | critical | a quarter, and of what is there only the tiles on screens and the coarse zooms stay |
  ///
  /// - Parameter keeping: the tiles that are there to be drawn when nothing else is, and go last: zooms 0 to 2 unless given.
  /// - Complexity: O(n log n).
  public func adjust(to level: PressureLevel, keeping: (Key) -> Bool = { $0.tile.zoom <= 2 }) {
    let late = entries(keeping)
    books.withLock { books in
      books.pressure = level
      if level > .normal {
        for tile in books.tiles where tile.pinCount == 0 && (tile.isUnused || level == .critical) && !late.has(tile) {
          books.trim(tile, in: self)
        }
      }
      books.fit(late, in: self)
    }
  }

  /// The kept tiles of which something is true. The caller is asked without the lock; what comes in between is not among them.
  private func entries(_ isOne: (Key) -> Bool) -> KeptEntries {
    KeptEntries(books.withLock { $0.tiles }.filter { isOne(key(of: $0)) })
  }

  /// Lets go of tiles, in the policy's order, until at most so many bytes are kept; the budget stays. Tiles on a screen stay.
  ///
  /// - Parameter keeping: true for tiles that are to stay whatever their cost: an app keeps the coarse zooms, so that there is always something to draw.
  /// - Complexity: O(n log n).
  public func trim(to byteCount: Int, keeping: (Key) -> Bool = { _ in false }) {
    let late = entries(keeping)
    books.withLock { books in
      for tile in books.ranked() where !late.has(tile) {
        guard books.keptBytes > byteCount else { break }
        books.trim(tile, in: self)
      }
    }
  }

  /// Lets go of the tiles that were loaded ahead of need and that nobody wanted yet.
  ///
  /// - Complexity: O(n).
  public func dropUnused() {
    books.withLock { books in
      for tile in books.tiles where tile.isUnused && tile.pinCount == 0 {
        books.trim(tile, in: self)
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
