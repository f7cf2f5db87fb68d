import CSQLite
import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Pages of a file that wait to be written, in sections of the file of 64 KiB, and the thread that writes them.
///
/// SQLite's cache gives up pages in nearly the order of the file. A section goes to the thread when all of it is there,
/// or when there are too many others; the thread writes sections in the order in which they come.
///
/// Unchecked: what has no lock is used by the connection's thread alone.
final class PageWindows: @unchecked Sendable {
  /// A call of SQLite's own VFS writes less than 128 KiB.
  private static let windowBytes = 1 << 16
  private static let openMax = 32
  private static let queuedMax = 16
  /// The smallest page of a database.
  private static let unitBytes = 512
  private static let unitCount = windowBytes / unitBytes

  private final class Window {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: windowBytes, alignment: 4096)
    /// Whether each unit is to be written.
    var filled = [Bool](repeating: false, count: unitCount)
    var filledCount = 0
    /// Of the file.
    var start: Int64 = 0
    var lastUse = 0

    deinit { bytes.deallocate() }

    func overlaps(_ section: Range<Int64>) -> Bool { section.overlaps(start..<(start + Int64(windowBytes))) }
  }

  /// The default VFS's open file.
  let file: UnsafeMutablePointer<sqlite3_file>
  /// Where the pages that were written here end.
  private(set) var fileEnd: Int64 = 0
  private var open: [Window] = []
  private var uses = 0
  private var thread: WorkerThread?

  private let condition = ThreadCondition()
  // Under the condition's lock. The first of the queue is being written.
  private var queue: [Window] = []
  private var spare: [Window] = []
  private var isEnding = false
  /// The first error of a write, and the system's. It is that of all later calls.
  private var failure = (code: SQLITE_OK, system: Int32(0))

  init(_ file: UnsafeMutablePointer<sqlite3_file>) { self.file = file }

  var methods: sqlite3_io_methods { file.pointee.pMethods.pointee }

  // MARK: - The connection's thread

  func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Int32 {
    let within = Int(offset & Int64(Self.windowBytes - 1))
    fileEnd = max(fileEnd, offset + Int64(count))
    guard within % Self.unitBytes == 0, count % Self.unitBytes == 0, within + count <= Self.windowBytes else {
      let code = settle(offset..<(offset + Int64(count)))
      return code == SQLITE_OK ? methods.xWrite(file, bytes, Int32(count), offset) : code
    }
    let window = window(from: offset - Int64(within))
    (window.bytes + within).copyMemory(from: bytes, byteCount: count)
    for unit in (within / Self.unitBytes)..<((within + count) / Self.unitBytes) where !window.filled[unit] {
      window.filled[unit] = true
      window.filledCount += 1
    }
    if window.filledCount == Self.unitCount {
      open.removeAll { $0 === window }
      enqueue(window)
    } else if open.count > Self.openMax {
      let oldest = open.indices.min { open[$0].lastUse < open[$1].lastUse }!
      enqueue(open.remove(at: oldest))
    }
    return currentFailure()
  }

  /// Waits until what was written of a section of the file is in it.
  func settle(_ section: Range<Int64> = 0..<Int64.max) -> Int32 {
    for window in open where window.overlaps(section) { enqueue(window) }
    open.removeAll { $0.overlaps(section) }
    condition.withLock {
      while queue.contains(where: { $0.overlaps(section) }) { condition.wait() }
    }
    return currentFailure()
  }

  /// Writes what waits, and ends the thread.
  func end() -> Int32 {
    let code = settle()
    condition.withLock {
      isEnding = true
      condition.broadcast()
    }
    thread?.join()
    thread = nil
    return code
  }

  /// The open window of a section, a new one if there is none.
  private func window(from start: Int64) -> Window {
    uses += 1
    let window: Window
    if let known = open.last(where: { $0.start == start }) {
      window = known
    } else {
      window = condition.withLock { spare.popLast() } ?? Window()
      window.start = start
      open.append(window)
    }
    window.lastUse = uses
    return window
  }

  private func enqueue(_ window: Window) {
    // Files of few pages need no thread.
    if thread == nil, window.filledCount == Self.unitCount { thread = WorkerThread.start { self.run() } }
    guard thread != nil else { return finish(window, write(window)) }
    condition.withLock {
      while queue.count >= Self.queuedMax { condition.wait() }
      queue.append(window)
      condition.broadcast()
    }
  }

  private func currentFailure() -> Int32 {
    let (code, system) = condition.withLock { failure }
    // SQLite asks for it when a call has failed.
    if code != SQLITE_OK { errno = system }
    return code
  }

  // MARK: - The writing thread

  private func run() {
    while let window = next() {
      let result = write(window)
      condition.withLock { _ = queue.removeFirst() }
      finish(window, result)
    }
  }

  private func next() -> Window? {
    condition.withLock {
      while queue.isEmpty, !isEnding { condition.wait() }
      return queue.first
    }
  }

  /// Writes the units of a window, in as few calls as they have runs.
  private func write(_ window: Window) -> (code: Int32, system: Int32) {
    var unit = 0
    while unit < Self.unitCount {
      guard window.filled[unit] else {
        unit += 1
        continue
      }
      var next = unit + 1
      while next < Self.unitCount, window.filled[next] { next += 1 }
      let code = methods.xWrite(
        file, window.bytes + unit * Self.unitBytes, Int32((next - unit) * Self.unitBytes),
        window.start + Int64(unit * Self.unitBytes))
      guard code == SQLITE_OK else { return (code, errno) }
      unit = next
    }
    return (SQLITE_OK, 0)
  }

  private func finish(_ window: Window, _ result: (code: Int32, system: Int32)) {
    for unit in window.filled.indices { window.filled[unit] = false }
    window.filledCount = 0
    condition.withLock {
      if failure.code == SQLITE_OK { failure = result }
      spare.append(window)
      condition.broadcast()
    }
  }
}
