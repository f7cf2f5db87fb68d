/// Values by key, of which the longest unused go when their bytes exceed a budget.
///
/// Entries lie in one array and are linked by their places in it, the most recently used first: finding, keeping and evicting are O(1).
struct LRUTable<Key: Hashable, Value> {
  private(set) var byteCountMax: Int
  /// The sum of all entries' bytes, never above ``byteCountMax``.
  private(set) var byteCount = 0
  private(set) var evictionCount = 0

  private struct Entry {
    var key: Key
    var value: Value
    var byteCount: Int
    /// Places in `entries`; `none` at the ends of the list.
    var newer: Int
    var older: Int
  }

  /// Vacant places hold nil.
  private var entries: [Entry?] = []
  private var vacant: [Int] = []
  private var places: [Key: Int] = [:]
  private var newest = none
  private var oldest = none
  private static var none: Int { -1 }

  init(byteCountMax: Int) {
    self.byteCountMax = byteCountMax
  }

  var count: Int { places.count }

  /// The keys, the most recently used first.
  var keys: [Key] {
    var keys: [Key] = []
    var place = newest
    while place != Self.none {
      keys.append(entries[place]!.key)
      place = entries[place]!.older
    }
    return keys
  }

  /// The value of a key, which becomes the most recently used one.
  mutating func value(for key: Key) -> Value? {
    guard let place = places[key] else { return nil }
    if place != newest {
      unlink(place)
      linkAsNewest(place)
    }
    return entries[place]!.value
  }

  /// Keeps a value in place of the key's former one, and lets others go for it. A value larger than the budget is not kept (the former goes all the same).
  mutating func insert(_ value: Value, for key: Key, byteCount: Int) {
    if let place = places[key] { remove(place) }
    guard byteCount <= byteCountMax else { return }
    shrink(to: byteCountMax - byteCount)
    let entry = Entry(key: key, value: value, byteCount: byteCount, newer: Self.none, older: Self.none)
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
  mutating func resize(to byteCountMax: Int) {
    self.byteCountMax = max(byteCountMax, 0)
    shrink(to: self.byteCountMax)
  }

  private mutating func shrink(to byteCount: Int) {
    while self.byteCount > byteCount {
      remove(oldest)
      evictionCount += 1
    }
  }

  private mutating func remove(_ place: Int) {
    unlink(place)
    let entry = entries[place]!
    places[entry.key] = nil
    byteCount -= entry.byteCount
    entries[place] = nil
    vacant.append(place)
  }

  private mutating func unlink(_ place: Int) {
    let (newer, older) = (entries[place]!.newer, entries[place]!.older)
    if newer == Self.none { newest = older } else { entries[newer]!.older = older }
    if older == Self.none { oldest = newer } else { entries[older]!.newer = newer }
  }

  private mutating func linkAsNewest(_ place: Int) {
    entries[place]!.newer = Self.none
    entries[place]!.older = newest
    if newest == Self.none { oldest = place } else { entries[newest]!.newer = place }
    newest = place
  }
}
