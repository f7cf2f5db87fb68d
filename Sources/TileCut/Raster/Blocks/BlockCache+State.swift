import Synchronization

extension BlockCache {
  /// The memory of one block.
  struct Buffer: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
    let byteCount: Int

    init(byteCount: Int) {
      self.byteCount = byteCount
      pointer = .allocate(byteCount: byteCount + PixelForm.slackBytes, alignment: 64)
    }

    func deallocate() { pointer.deallocate() }
  }

  enum Content: Sendable {
    case missing
    case transparent
    case pixels(Buffer)
  }

  /// A block and its users.
  ///
  /// Unchecked `Sendable`: the cache's lock guards everything except `content`, which has its own lock. That lock is
  /// held while the block is decoded, and other threads wait on it. Lock order: `content`, then the cache. Under the
  /// cache's lock, `content` is locked only for entries without users.
  final class Entry: @unchecked Sendable {
    let key: Key
    let content = Mutex<Content>(.missing)
    var pins = 0
    // Neighbours in the list ordered by recency; the dictionary owns the entries.
    unowned(unsafe) var newer: Entry?
    unowned(unsafe) var older: Entry?

    init(key: Key) { self.key = key }
  }

  /// The entries by key and by recency. Every call is made under the cache's lock; buffers to free are returned, so
  /// that the caller frees them without the lock.
  struct State {
    private var entries: [Key: Entry] = [:]
    private unowned(unsafe) var newest: Entry?
    private unowned(unsafe) var oldest: Entry?
    /// Buffers allocated for blocks that turned out to be transparent, by size.
    var spares: [Int: [Buffer]] = [:]
    private(set) var bytes = 0
    /// The reserved part of `bytes`.
    private var reserved = 0

    mutating func pin(_ key: Key) -> Entry {
      let entry: Entry
      if let known = entries[key] {
        entry = known
        unlink(entry)
      } else {
        entry = Entry(key: key)
        entries[key] = entry
      }
      link(entry)
      entry.pins += 1
      return entry
    }

    /// Ends a use. Evicts if the blocks in use had exceeded the budget, and removes entries without content.
    mutating func unpin(_ entry: Entry, bytesMax: Int) -> [Buffer] {
      entry.pins -= 1
      guard entry.pins == 0 else { return [] }
      let isMissing = entry.content.withLock { if case .missing = $0 { true } else { false } }
      if isMissing { forget(entry) }
      guard bytes > bytesMax else { return [] }
      return evict(until: bytesMax, reusing: nil).unused
    }

    /// A buffer of the given size from the spares or an evicted block, or nil if a new one may be allocated; and the
    /// buffers to free.
    mutating func takeBuffer(_ byteCount: Int, bytesMax: Int) -> (Buffer?, unused: [Buffer]) {
      if let spare = spares[byteCount]?.popLast() { return (spare, []) }
      var unused: [Buffer] = []
      if bytes + byteCount > bytesMax {
        for buffer in spares.values.joined() {
          unused.append(buffer)
          bytes -= buffer.byteCount
        }
        spares = [:]
        let evicted = evict(until: bytesMax - byteCount, reusing: byteCount)
        unused += evicted.unused
        if let buffer = evicted.reused { return (buffer, unused) }
      }
      bytes += byteCount
      return (nil, unused)
    }

    mutating func reserve(_ byteCount: Int, bytesMax: Int) -> (Bool, unused: [Buffer]) {
      guard byteCount <= bytesMax / 2 - reserved else { return (false, []) }
      reserved += byteCount
      bytes += byteCount
      return (true, evict(until: bytesMax, reusing: nil).unused)
    }

    mutating func release(_ byteCount: Int) {
      reserved -= byteCount
      bytes -= byteCount
    }

    mutating func remove(where condition: (Key) -> Bool) -> [Buffer] {
      var unused: [Buffer] = []
      for entry in Array(entries.values) where condition(entry.key) && entry.pins == 0 {
        if let buffer = takeContent(of: entry) { unused.append(buffer) }
        forget(entry)
      }
      for buffer in unused { bytes -= buffer.byteCount }
      return unused
    }

    mutating func removeAll() {
      for buffer in remove(where: { _ in true }) + spares.values.joined() { buffer.deallocate() }
      spares = [:]
    }

    /// Evicts the oldest blocks until `target` bytes are left or a buffer of `size` bytes is found.
    private mutating func evict(until target: Int, reusing size: Int?) -> (reused: Buffer?, unused: [Buffer]) {
      var unused: [Buffer] = []
      var candidate = oldest
      while bytes > target, let entry = candidate {
        candidate = entry.newer
        guard entry.pins == 0 else { continue }
        let buffer = takeContent(of: entry)
        forget(entry)
        guard let buffer else { continue }
        if buffer.byteCount == size { return (buffer, unused) }
        bytes -= buffer.byteCount
        unused.append(buffer)
      }
      return (nil, unused)
    }

    private func takeContent(of entry: Entry) -> Buffer? {
      entry.content.withLock { content in
        defer { content = .missing }
        if case .pixels(let buffer) = content { return buffer }
        return nil
      }
    }

    private mutating func forget(_ entry: Entry) {
      unlink(entry)
      entries[entry.key] = nil
    }

    private mutating func link(_ entry: Entry) {
      entry.older = newest
      entry.newer = nil
      newest?.newer = entry
      newest = entry
      if oldest == nil { oldest = entry }
    }

    private mutating func unlink(_ entry: Entry) {
      if let newer = entry.newer { newer.older = entry.older } else { newest = entry.older }
      if let older = entry.older { older.newer = entry.newer } else { oldest = entry.newer }
      (entry.newer, entry.older) = (nil, nil)
    }
  }
}
