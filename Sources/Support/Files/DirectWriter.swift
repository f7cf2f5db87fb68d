import CSystemShim
import LibC

/// Writes the blocks of a file in their order past the system's cache (`O_DIRECT`), on a thread of its own, so that the
/// next block is filled while the disk takes the last ones.
///
/// A block is memory that ``makeBlock(_:)`` made. ``write(_:at:)`` takes a full one and returns another, which is
/// empty. Unchecked, because what both threads use is protected by `condition`.
final class DirectWriter: @unchecked Sendable {
  /// Of offsets and memory, as disks want it.
  static let alignment = 4096
  /// More only hide the disk's slowness for longer.
  private static let blocksMax = 4

  private let descriptor: Int32
  /// The file's own, for a file system that takes the option and refuses the writes.
  private let fallback: Int32
  private var thread: WorkerThread?
  private let condition = ThreadCondition()
  // All of these under the condition's lock.
  private var full: [(block: UnsafeMutableRawBufferPointer, offset: Int)] = []
  private var empty: [UnsafeMutableRawBufferPointer] = []
  /// What is before it is in the file.
  private var done: Int
  private var failure: FileSystem.SystemError?
  private var isStopped = false
  private var isRefused = false

  /// False once the file system has refused a block, which then went through the cache.
  var isUseful: Bool { condition.withLock { !isRefused } }

  static func makeBlock(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
    .allocate(byteCount: byteCount, alignment: alignment)
  }

  /// - Parameters:
  ///   - file: its descriptor for writes through the cache.
  ///   - offset: of the first block.
  /// - Returns: nil where nothing can be written past the cache.
  init?(_ file: Int32, from offset: Int, blockBytes: Int) {
    (fallback, done) = (file, offset)
    descriptor = csystem_open_direct(file)
    guard descriptor >= 0 else { return nil }
    empty = (1..<Self.blocksMax).map { _ in Self.makeBlock(blockBytes) }
    thread = WorkerThread.start { [unowned self] in work() }
  }

  /// Ends the thread after the blocks that it has. The object cannot be used any more.
  func stop() {
    condition.withLock {
      isStopped = true
      condition.broadcast()
    }
    thread?.join()
    close(descriptor)
    for block in empty { block.deallocate() }
  }

  /// Has a block written behind the last one.
  ///
  /// - Returns: another one.
  /// - Throws: ``FileSystem/SystemError`` of this block or an earlier one.
  func write(_ block: UnsafeMutableRawBufferPointer, at offset: Int) throws -> UnsafeMutableRawBufferPointer {
    guard thread != nil else {
      try write(block, offset)
      done = offset + block.count
      return block
    }
    return try condition.withLock {
      while empty.isEmpty, failure == nil { condition.wait() }
      if let failure { throw failure }
      full.append((block, offset))
      condition.broadcast()
      return empty.removeLast()
    }
  }

  /// Waits until everything before an offset is in the file.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  func wait(until offset: Int) throws {
    try condition.withLock {
      while done < offset, !full.isEmpty, failure == nil { condition.wait() }
      if let failure { throw failure }
    }
  }

  private func work() {
    while let (block, offset) = next() {
      var failure: FileSystem.SystemError?
      do { try write(block, offset) } catch { failure = error }
      condition.withLock {
        full.removeFirst()
        empty.append(block)
        done = offset + block.count
        if self.failure == nil { self.failure = failure }
        condition.broadcast()
      }
    }
  }

  /// The next block, which stays in the list until it is written.
  private func next() -> (UnsafeMutableRawBufferPointer, Int)? {
    condition.withLock {
      while full.isEmpty, !isStopped { condition.wait() }
      return full.first
    }
  }

  private func write(_ block: UnsafeMutableRawBufferPointer, _ offset: Int) throws(FileSystem.SystemError) {
    let bytes = UnsafeRawBufferPointer(block)
    do {
      try FileSystem.write(bytes, to: descriptor, at: offset)
    } catch {
      guard error.number == EINVAL else { throw error }
      condition.withLock { isRefused = true }
      try FileSystem.write(bytes, to: fallback, at: offset)
    }
  }
}
