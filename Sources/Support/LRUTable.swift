/// Values by key with a budget in bytes. The least recently used ones are evicted when the budget is exceeded.
///
/// Entries are in one array and linked by their indices in it, the most recently used first: lookup, insertion and
/// eviction are O(1). Inlinable, so that each user's module has its own specialisation: it is used once a request.
@usableFromInline
package struct LRUTable<Key: Hashable, Value> {
  @usableFromInline
  struct Entry {
    @usableFromInline var key: Key
    @usableFromInline var value: Value
    @usableFromInline var byteCount: Int
    /// Indices of `entries`; `none` at the ends of the list.
    @usableFromInline var newer: Int
    @usableFromInline var older: Int

    @inlinable
    init(key: Key, value: Value, byteCount: Int) {
      (self.key, self.value, self.byteCount) = (key, value, byteCount)
      (newer, older) = (-1, -1)
    }
  }

  /// The sum of all entries' bytes is never above this.
  @usableFromInline package var byteCountMax: Int
  /// The sum of all entries' bytes.
  @usableFromInline package var byteCount = 0
  /// Evictions so far.
  @usableFromInline package var evictionCount = 0

  /// Vacant places hold nil.
  @usableFromInline var entries: [Entry?] = []
  @usableFromInline var vacant: [Int] = []
  @usableFromInline var places: [Key: Int] = [:]
  @usableFromInline var newest = -1
  @usableFromInline var oldest = -1
  @inlinable static var none: Int { -1 }

  @inlinable
  package init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

  @inlinable package var count: Int { places.count }

  /// The keys, the most recently used first.
  package var keys: [Key] {
    var keys: [Key] = []
    var place = newest
    while place != Self.none {
      keys.append(entries[place]!.key)
      place = entries[place]!.older
    }
    return keys
  }

  /// The value of a key, which becomes the most recently used one.
  @inlinable
  package mutating func value(for key: Key) -> Value? {
    guard let place = places[key] else { return nil }
    if place != newest {
      unlink(place)
      linkAsNewest(place)
    }
    return entries[place]!.value
  }

  /// Keeps a value in place of the key's former one, and evicts others for it. A value larger than the budget is not
  /// kept; the former one is removed all the same.
  @inlinable
  package mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
    if let place = places[key] { remove(place) }
    guard byteCount <= byteCountMax else { return }
    shrink(to: byteCountMax - byteCount)
    let entry = Entry(key: key, value: value, byteCount: byteCount)
    let place: Int
    if let last = vacant.popLast() {
      place = last
      entries[place] = entry
    } else {
      place = entries.count
      entries.append(entry)
    }
    places[key] = place
    self.byteCount += byteCount
    linkAsNewest(place)
  }

  /// Sets another budget, and evicts what exceeds it.
  @inlinable
  package mutating func resize(to byteCountMax: Int) {
    self.byteCountMax = max(byteCountMax, 0)
    shrink(to: self.byteCountMax)
  }

  @inlinable
  mutating func shrink(to byteCount: Int) {
    while self.byteCount > byteCount {
      remove(oldest)
      evictionCount += 1
    }
  }

  @inlinable
  mutating func remove(_ place: Int) {
    unlink(place)
    let entry = entries[place]!
    places[entry.key] = nil
    byteCount -= entry.byteCount
    entries[place] = nil
    vacant.append(place)
  }

  @inlinable
  mutating func unlink(_ place: Int) {
    let (newer, older) = (entries[place]!.newer, entries[place]!.older)
    if newer == Self.none { newest = older } else { entries[newer]!.older = older }
    if older == Self.none { oldest = newer } else { entries[older]!.newer = newer }
  }

  @inlinable
  mutating func linkAsNewest(_ place: Int) {
    entries[place]!.newer = Self.none
    entries[place]!.older = newest
    if newest == Self.none { oldest = place } else { entries[newest]!.newer = place }
    newest = place
  }
}
