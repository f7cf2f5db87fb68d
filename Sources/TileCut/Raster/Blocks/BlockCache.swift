import Synchronization

/// Decoded blocks of rasters, within a budget of bytes, shared by all threads and, if the caller likes, by several rasters.
///
/// - A block is decoded once however many threads ask for it at the same time: the first decodes, the others wait or
///   look for other work.
/// - A block in use is never evicted; the least recently used others go first.
/// - Evicted buffers of the right size are used again, which keeps the allocator out of the loop.
///
/// The budget is exceeded only while the blocks in use alone exceed it.
package final class BlockCache: Sendable {
  /// The budget.
  package let bytesMax: Int

  /// A block of a raster.
  struct Key: Hashable {
    let raster: Int
    let block: Int
  }

  private let state: Mutex<State>

  package init(bytesMax: Int) {
    self.bytesMax = bytesMax
    state = Mutex(State())
  }

  deinit { state.withLock { $0.removeAll() } }

  /// Bytes held now, by blocks in use, cached blocks and buffers kept for the next.
  package var bytes: Int { state.withLock { $0.bytes } }

  /// A number for a raster's keys that no other raster has.
  static func newRasterID() -> Int { rasterCount.wrappingAdd(1, ordering: .relaxed).newValue }
  private static let rasterCount = Atomic<Int>(0)

  /// Calls `body` with a block's pixels, decoding them first if nobody has.
  ///
  /// - Parameters:
  ///   - byteCount: bytes of the decoded block.
  ///   - waits: whether to wait for another thread that is decoding the block.
  ///   - decode: fills a buffer of `byteCount` bytes (and ``PixelForm/slackBytes``).
  ///   - body: gets nil for a block that is wholly transparent. The pixels stay put until it returns.
  /// - Returns: what `body` returns, or nil when another thread is decoding the block and `waits` is false.
  /// - Complexity: O(1) besides `decode` and `body`.
  func withBlock<Result>(
    _ key: Key, byteCount: Int, waits: Bool, decode: (UnsafeMutableRawPointer) throws -> BlockContent,
    body: (UnsafeRawPointer?) throws -> Result
  ) throws -> Result? {
    let entry = state.withLock { $0.pin(key) }
    defer {
      let unused = state.withLock { $0.unpin(entry, bytesMax: bytesMax) }
      for buffer in unused { buffer.deallocate() }
    }
    let found: Found?
    if waits {
      found = try entry.content.withLock { try fill(&$0, byteCount: byteCount, decode: decode) }
    } else {
      found = try entry.content.withLockIfAvailable { try fill(&$0, byteCount: byteCount, decode: decode) }
    }
    switch found {
    case nil: return nil
    case .transparent: return try body(nil)
    case .pixels(let buffer): return try body(UnsafeRawPointer(buffer.pointer))
    }
  }

  private enum Found: Sendable {
    case transparent
    case pixels(Buffer)
  }

  /// Decodes unless that was done.
  private func fill(
    _ content: inout Content, byteCount: Int, decode: (UnsafeMutableRawPointer) throws -> BlockContent
  ) throws -> Found {
    switch content {
    case .pixels(let buffer): return .pixels(buffer)
    case .transparent: return .transparent
    case .missing: break
    }
    let buffer = takeBuffer(byteCount)
    do {
      switch try decode(buffer.pointer) {
      case .pixels:
        content = .pixels(buffer)
        return .pixels(buffer)
      case .transparent:
        content = .transparent
        giveBack(buffer)
        return .transparent
      }
    } catch {
      giveBack(buffer)
      throw error
    }
  }

  /// Forgets a raster's blocks, none of which may be in use.
  func removeAll(raster: Int) {
    let unused = state.withLock { $0.remove { $0.raster == raster } }
    for buffer in unused { buffer.deallocate() }
  }

  /// Sets bytes aside, or returns nil when more than half of the budget would be.
  func reserve(_ byteCount: Int) -> Reservation? {
    guard take(byteCount) else { return nil }
    return Reservation(self, byteCount)
  }

  /// Bytes taken out of a cache's budget for pixels held elsewhere, given back with the last reference.
  final class Reservation: Sendable {
    private let cache: BlockCache
    private let byteCount: Int

    fileprivate init(_ cache: BlockCache, _ byteCount: Int) {
      self.cache = cache
      self.byteCount = byteCount
    }

    deinit { cache.release(byteCount) }
  }

  /// Counts bytes against the budget, unless more than half of it would be counted so.
  private func take(_ byteCount: Int) -> Bool {
    let (taken, unused) = state.withLock { $0.reserve(byteCount, bytesMax: bytesMax) }
    for buffer in unused { buffer.deallocate() }
    return taken
  }

  /// Ends a ``take(_:)``.
  private func release(_ byteCount: Int) { state.withLock { $0.release(byteCount) } }

  private func takeBuffer(_ byteCount: Int) -> Buffer {
    let (buffer, unused) = state.withLock { $0.takeBuffer(byteCount, bytesMax: bytesMax) }
    for buffer in unused { buffer.deallocate() }
    return buffer ?? Buffer(byteCount: byteCount)
  }

  private func giveBack(_ buffer: Buffer) {
    state.withLock { $0.spares[buffer.byteCount, default: []].append(buffer) }
  }
}

/// What decoding a block found.
enum BlockContent {
  case pixels
  /// Every pixel is transparent; the buffer need not be filled.
  case transparent
}
