import Synchronization

extension TileCache {
  /// Says which tiles a screen shows from now on: they stay as long as it does. The ones it no longer shows count as just used.
  ///
  /// - Parameters:
  ///   - focus: where the map is, for eviction by distance.
  ///   - screen: a number for each map that uses the cache at the same time.
  /// - Complexity: O(tiles on the screen).
  public func show(_ keys: some Sequence<Key>, focus: MapFocus, in screen: Int = 0) {
    let keys = Set(keys)
    let now = tick()
    books.withLock { books in
      books.show(keys, in: screen, now: now, cache: self)
      books.focuses[screen] = focus
      books.focusesChanged()
    }
  }

  /// Changes what is known of a map whose tiles on the screen stay the same.
  public func refocus(_ focus: MapFocus, in screen: Int = 0) {
    books.withLock { books in
      books.focuses[screen] = focus
      books.focusesChanged()
    }
  }

  /// A map is gone: nothing stays for it.
  public func hide(screen: Int = 0) {
    let now = tick()
    books.withLock { books in
      books.show([], in: screen, now: now, cache: self)
      books.screens[screen] = nil
      books.focuses[screen] = nil
      books.focusesChanged()
    }
  }
}
