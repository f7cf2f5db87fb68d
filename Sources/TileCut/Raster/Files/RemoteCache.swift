import Support

/// Blocks of remote files in memory, with one budget for all files.
///
/// Threads that want the same block at the same time wait for the one that fetches it.
///
/// Unchecked `Sendable`: `condition` guards everything.
package final class RemoteCache: @unchecked Sendable {
  /// Bytes of a block; requests consist of whole blocks.
  static let blockBytes = 1 << 15

  struct Key: Hashable {
    let file: Int
    let block: Int
  }

  private let condition = ThreadCondition()
  private var table: LRUTable<Key, [UInt8]>
  private var fetching: Set<Key> = []
  private var fileCount = 0
  private var requests = 0
  private var bytes = 0
  private var stops: @Sendable () -> Bool = { false }

  /// How patient connections are.
  let limits: RemoteLimits

  init(bytesMax: Int, limits: RemoteLimits = RemoteLimits()) {
    table = LRUTable(byteCountMax: max(bytesMax, 16 * Self.blockBytes))
    self.limits = limits
  }

  /// The budget for a cut with the given memory: a sixteenth, and at most 64 MB.
  static func bytesMax(memory: Int) -> Int { min(max(memory / 16, 2 << 20), 64 << 20) }

  var bytesMax: Int { table.byteCountMax }

  /// What was asked of servers so far, repetitions included, and the bytes of bodies that came.
  package var traffic: (requests: Int, bytes: Int) {
    condition.withLock { (requests, bytes) }
  }

  /// Ends transfers and waits when the cut is cancelled.
  func stop(when isCancelled: @escaping @Sendable () -> Bool) { condition.withLock { stops = isCancelled } }

  var isCancelled: Bool { condition.withLock { stops }() }

  func newFile() -> Int {
    condition.withLock {
      fileCount += 1
      return fileCount
    }
  }

  func note(_ response: RemoteResponse) {
    condition.withLock {
      requests += 1
      bytes += response.received
    }
  }

  /// Stores the first blocks of a file, which came with its size.
  func store(_ content: ArraySlice<UInt8>, file: Int, firstBlock: Int) {
    condition.withLock { insert(content, file: file, firstBlock: firstBlock) }
  }

  /// Passes blocks in ascending order to `use`; fetches those that are missing.
  ///
  /// - Parameters:
  ///   - fetch: gets a run of missing blocks, fetches it and perhaps some that follow, and returns their bytes.
  ///   - limit: the number of blocks of the file.
  func blocks(
    _ wanted: ClosedRange<Int>, of file: Int, limit: Int, ahead: (ClosedRange<Int>) -> Int,
    fetch: (ClosedRange<Int>) throws -> [UInt8], use: (Int, [UInt8]) -> Void
  ) throws {
    var next = wanted.lowerBound
    while next <= wanted.upperBound {
      condition.lock()
      if let block = table.value(for: Key(file: file, block: next)) {
        condition.unlock()
        use(next, block)
        next += 1
        continue
      }
      if fetching.contains(Key(file: file, block: next)) {
        condition.wait()
        condition.unlock()
        continue
      }
      var last = next
      func isFree(_ block: Int) -> Bool {
        let key = Key(file: file, block: block)
        return block < limit && !fetching.contains(key) && table.value(for: key) == nil
      }
      while last < wanted.upperBound, isFree(last + 1) { last += 1 }
      let extra = last == wanted.upperBound ? ahead(next...last) : 0
      let furthest = last + extra
      while last < furthest, isFree(last + 1) { last += 1 }
      let run = next...last
      let keys = run.map { Key(file: file, block: $0) }
      fetching.formUnion(keys)
      condition.unlock()
      defer {
        condition.withLock {
          fetching.subtract(keys)
          condition.broadcast()
        }
      }
      let content = try fetch(run)
      condition.withLock { insert(content[...], file: file, firstBlock: run.lowerBound) }
      // Used from here, since the budget may be too small for the run.
      while next <= min(last, wanted.upperBound) {
        let start = (next - run.lowerBound) * Self.blockBytes
        use(next, Array(content[start..<min(start + Self.blockBytes, content.count)]))
        next += 1
      }
    }
  }

  private func insert(_ content: ArraySlice<UInt8>, file: Int, firstBlock: Int) {
    var (block, start) = (firstBlock, content.startIndex)
    while start < content.endIndex {
      let end = min(start + Self.blockBytes, content.endIndex)
      table.insert(Array(content[start..<end]), for: Key(file: file, block: block), byteCount: Self.blockBytes)
      (block, start) = (block + 1, end)
    }
  }
}
