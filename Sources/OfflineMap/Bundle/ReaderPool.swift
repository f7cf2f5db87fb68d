import Dispatch
import Support
import TileIndex

/// Readers of one bundle for any number of tasks: each is used by one thread at a time.
///
/// All readers are opened at once, so that all of them read the same edition: a bundle that is replaced later keeps its
/// old file for them. A file that is changed in place ends them: each read throws `.changed` from then on. SQLite keeps
/// readers apart from writers and goes on with the new state; here that is a change as well, because the app has tiles
/// of the old one.
///
/// `free` is guarded by `condition`, which makes the unchecked `Sendable` valid.
final class ReaderPool: @unchecked Sendable {
  private let condition = ThreadCondition()
  private var free: [any BundleReader]
  /// The bundle's state at opening.
  private let version: UInt64
  /// What makes the bundle slow.
  let warnings: [BundleError]

  /// - Throws: `BundleError`.
  init(path: String, matrixSet: TileMatrixSet?, count: Int) throws {
    (free, version) = try Self.openAll(path, matrixSet: matrixSet, count: count)
    if free[0].scansForTiles {
      // Each reader would make an index of its own.
      free.removeLast(free.count - 1)
      warnings = [BundleError.notIndexed(path, "opening it")]
      try free[0].prepareLookups()
    } else {
      warnings = []
    }
  }

  /// Readers of one edition that are kept apart from writers in one way. While others replace the file, or take and
  /// give back locks of it, neither is so at the first attempt.
  private static func openAll(
    _ path: String, matrixSet: TileMatrixSet?, count: Int
  ) throws -> (readers: [any BundleReader], version: UInt64) {
    for _ in 0..<attemptsMax {
      let before = FileIdentity(path: path)
      let first = try BundleFile.open(path, matrixSet: matrixSet)
      // Readers of a tileset share its shards: each opens a shard when it needs a tile, and all keep to its edition.
      let readers =
        try [first]
        + (1..<count).map { _ in
          try first.opener?() ?? BundleFile.open(path, matrixSet: matrixSet)
        }
      let versions = readers.map(\.version)
      if FileIdentity(path: path) == before, Set(versions).count == 1 { return (readers, versions[0]) }
    }
    throw BundleError.beingWritten(path)
  }

  private static let attemptsMax = 10

  /// - Throws: `BundleError` with `.changed` if what was read may be of another state than that at opening.
  private func check(_ reader: any BundleReader) throws {
    guard reader.version != version else { return }
    throw BundleError(
      .changed, path: reader.path, "another program changed it while it was open", remedy: "open it again")
  }

  /// Reads on the calling thread. Waits while all readers are in use, which is as long as another thread's read.
  func withReader<Result>(_ body: (any BundleReader) throws -> Result) throws -> Result {
    let reader = condition.withLock {
      while free.isEmpty { condition.wait() }
      return free.removeLast()
    }
    defer { giveBack(reader) }
    let result = try body(reader)
    try check(reader)
    return result
  }

  /// Reads on the calling thread if a reader is free; nil otherwise.
  func withFreeReader<Result>(_ body: (any BundleReader) throws -> Result) throws -> Result? {
    guard let reader = condition.withLock({ free.popLast() }) else { return nil }
    defer { giveBack(reader) }
    let result = try body(reader)
    try check(reader)
    return result
  }

  private func giveBack(_ reader: any BundleReader) {
    condition.withLock {
      free.append(reader)
      condition.broadcast()
    }
  }

  /// Reads without blocking a thread of Swift's tasks.
  func read<Result: Sendable>(
    _ body: @Sendable (any BundleReader) throws -> Result
  ) async throws -> Result {
    try await withTaskExecutorPreference(QueueExecutor.ofMaps) {
      try Task.checkCancellation()
      return try withReader(body)
    }
  }
}

/// Runs tasks that may block on threads of Dispatch's pool. The threads of Swift's own pool are as few as the
/// processors, and a task that blocks one keeps others from running.
final class QueueExecutor: TaskExecutor {
  /// Of all maps.
  static let ofMaps = QueueExecutor(label: "offline-map")

  private let queue: DispatchQueue

  private init(label: String) {
    queue = DispatchQueue(label: label, qos: .userInitiated, attributes: .concurrent)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
