import Support

/// Reads tiles on a thread of its own while the caller writes them, so that copying a bundle takes as long as the
/// slower of the two.
///
/// Tiles come in the order in which they are read. At most ``batchesMax`` batches of ``batchBytes`` and one tile each
/// wait; they are used again and again, and small enough for a processor's cache.
final class TileReadAhead: @unchecked Sendable {
  /// Of a reader: a tile and its bytes.
  typealias Body = (TileID, UnsafeRawBufferPointer) throws -> Void

  private static let batchBytes = 1 << 18
  private static let batchesMax = 8

  private final class Batch {
    var bytes: [UInt8] = []
    /// Tiles, where their bytes end, and their hashes.
    var tiles: [(id: TileID, end: Int, hash: UInt64?)] = []

    init() { bytes.reserveCapacity(batchBytes + batchBytes >> 3) }

    func removeAll() {
      bytes.removeAll(keepingCapacity: true)
      tiles.removeAll(keepingCapacity: true)
    }
  }

  private struct Stopped: Error {}

  private let condition = ThreadCondition()
  // All of these under the condition's lock.
  private var batches: [Batch] = []
  private var spare: [Batch] = []
  private var isRead = false
  private var isStopped = false
  private var failure: (any Error)?

  /// Passes what `walk` reads to `body`. Only `walk` may use what it reads from until this returns.
  ///
  /// - Parameters:
  ///   - hashing: computes the hash of each tile, on the reading thread.
  ///   - body: gets the hash, or nil.
  /// - Throws: what `walk` throws, after the tiles before it, or what `body` throws.
  static func forEachTile(
    hashing: Bool = false, _ walk: @escaping (Body) throws -> Void,
    _ body: (TileID, UnsafeRawBufferPointer, UInt64?) throws -> Void
  ) throws {
    let readAhead = TileReadAhead()
    // This thread does not use it before the other has ended.
    nonisolated(unsafe) let walk = walk
    guard let thread = WorkerThread.start({ readAhead.read(walk, hashing: hashing) }) else {
      return try walk { try body($0, $1, nil) }
    }
    defer {
      readAhead.stop()
      thread.join()
    }
    while let batch = try readAhead.next() {
      try batch.bytes.withUnsafeBytes { bytes in
        var start = 0
        for (tile, end, hash) in batch.tiles {
          try body(tile, UnsafeRawBufferPointer(rebasing: bytes[start..<end]), hash)
          start = end
        }
      }
      readAhead.reuse(batch)
    }
  }

  // MARK: - The reading thread

  private func read(_ walk: (Body) throws -> Void, hashing: Bool) {
    var batch = Batch()
    var thrown: (any Error)?
    do {
      try walk { tile, bytes in
        batch.bytes.append(contentsOf: bytes)
        batch.tiles.append((tile, batch.bytes.count, hashing ? ContentHash.hash(bytes) : nil))
        guard batch.bytes.count >= Self.batchBytes || batch.tiles.count >= Self.batchBytes >> 4 else { return }
        batch = try exchange(batch)
      }
    } catch {
      thrown = error
    }
    condition.withLock {
      if !batch.tiles.isEmpty { batches.append(batch) }
      (failure, isRead) = (thrown, true)
      condition.broadcast()
    }
  }

  /// Waits for room, hands over a batch and takes an empty one.
  private func exchange(_ batch: Batch) throws -> Batch {
    try condition.withLock {
      while batches.count >= Self.batchesMax, !isStopped { condition.wait() }
      if isStopped { throw Stopped() }
      batches.append(batch)
      condition.broadcast()
      return spare.popLast() ?? Batch()
    }
  }

  // MARK: - The writing thread

  /// The next batch; nil after the last.
  private func next() throws -> Batch? {
    try condition.withLock {
      while batches.isEmpty, !isRead { condition.wait() }
      guard !batches.isEmpty else {
        if let failure { throw failure }
        return nil
      }
      defer { condition.broadcast() }
      return batches.removeFirst()
    }
  }

  private func reuse(_ batch: Batch) {
    batch.removeAll()
    condition.withLock { spare.append(batch) }
  }

  private func stop() {
    condition.withLock {
      isStopped = true
      condition.broadcast()
    }
  }
}
