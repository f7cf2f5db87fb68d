import Synchronization

/// A least-recently-used cache of decoded raster blocks with a byte budget, shared by all threads and usually by
/// several rasters.
///
/// - A block is decoded once, however many threads ask for it at the same time: the first one decodes, the others wait
///   or continue with other blocks.
/// - A block in use is never evicted.
/// - Evicted buffers of the right size are reused, which avoids allocations.
///
/// The budget is exceeded only if the blocks in use exceed it.
package final class BlockCache: Sendable {
  /// The budget.
  package var bytesMax: Int { limit.load(ordering: .relaxed) }
  private let limit: Atomic<Int>

  /// Identifies a block of a raster.
  struct Key: Hashable {
    let raster: Int
    let block: Int
  }

  private let state: Mutex<State>

  package init(bytesMax: Int) {
    limit = Atomic(bytesMax)
    state = Mutex(State())
  }

  deinit { state.withLock { $0.removeAll() } }

  /// Makes the budget smaller; blocks are evicted when the next one is used.
  func shrink(to bytes: Int) { limit.store(min(bytes, bytesMax), ordering: .relaxed) }

  /// Bytes held now: blocks in use, cached blocks, reservations and spare buffers.
  package var bytes: Int { state.withLock { $0.bytes } }

  /// A new number that identifies a raster in ``Key``.
  static func newRasterID() -> Int { rasterCount.wrappingAdd(1, ordering: .relaxed).newValue }
  private static let rasterCount = Atomic<Int>(0)

  /// Calls `body` with a block's pixels; decodes them first if they are not cached.
  ///
  /// - Parameters:
  ///   - byteCount: bytes of the decoded block.
  ///   - waits: whether to wait for another thread that is decoding the block.
  ///   - decode: fills a buffer of `byteCount` bytes; ``PixelForm/slackBytes`` follow.
  ///   - body: gets nil for a block that is entirely transparent. The pixels are valid until it returns.
  /// - Returns: the result of `body`, or nil if another thread is decoding the block and `waits` is false.
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

  /// Decodes the block unless it is decoded already.
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

  /// Removes a raster's blocks, none of which may be in use.
  func removeAll(raster: Int) {
    let unused = state.withLock { $0.remove { $0.raster == raster } }
    for buffer in unused { buffer.deallocate() }
  }

  /// Reserves part of the budget, or returns nil if all reservations would exceed half of it.
  func reserve(_ byteCount: Int) -> Reservation? {
    guard take(byteCount) else { return nil }
    return Reservation(self, byteCount)
  }

  /// Bytes of the budget that are used outside of the cache; released with the last reference.
  final class Reservation: Sendable {
    private let cache: BlockCache
    private let byteCount: Int

    fileprivate init(_ cache: BlockCache, _ byteCount: Int) {
      self.cache = cache
      self.byteCount = byteCount
    }

    deinit { cache.release(byteCount) }
  }

  /// Subtracts reserved bytes from the budget; false if all reservations would exceed half of it.
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

/// The result of decoding a block.
enum BlockContent {
  case pixels
  /// Every pixel is transparent; the buffer need not be filled.
  case transparent
}
