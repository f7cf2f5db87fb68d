import Support
import Synchronization
import TileIndex

/// Records a cut while it runs, so that it can go on after a kill or a power cut.
///
/// 1. ``record(_:_:)`` appends each stored tile to the ``TileLog``.
/// 2. Now and then ``saveIfDue(_:)`` writes a ``Checkpoint`` beside the last one. In the background the log is put on
///    the disk, then the checkpoint, which then replaces the last one.
///
/// So the checkpoint on the disk never speaks of tiles that are not there. Tiles behind it are cut again. The time
/// between two checkpoints is at least a hundred times that which the last one took from the cut.
///
/// Unchecked: one thread at a time uses it, the one that accepts subtrees.
final class CutJournal: @unchecked Sendable {
  private static let costFactor = 100.0

  private let folder: CutWorkFolder
  private let log: TileLog
  private let secondsBefore: Double
  private let start = ContinuousClock.now
  private var due: ContinuousClock.Instant
  private var saving: Saving?

  /// A checkpoint on its way to the disk.
  private final class Saving: Sendable {
    let result = Mutex<Result<Void, any Error>?>(nil)
    nonisolated(unsafe) var thread: WorkerThread?
  }

  /// - Parameter checkpoint: where the cut goes on.
  init(_ folder: CutWorkFolder, from checkpoint: Checkpoint) throws {
    self.folder = folder
    log = try TileLog(folder.log, at: checkpoint.log)
    secondsBefore = checkpoint.seconds
    due = start + .seconds(folder.checkpoints.secondsMin)
  }

  /// How long the cut has run, pauses not counted.
  var seconds: Double { secondsBefore + (ContinuousClock.now - start) / .seconds(1) }

  func record(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws { try log.append(tile, data) }

  /// Saves a checkpoint unless the last one is recent or still on its way.
  func saveIfDue(_ state: () -> PyramidState?) throws {
    let begin = ContinuousClock.now
    guard begin >= due else { return }
    if let saving {
      guard let result = saving.result.withLock({ $0 }) else { return }
      saving.thread?.join()
      self.saving = nil
      try result.get()
    }
    guard let state = state() else { return }
    let file = try write(state)
    let saving = Saving()
    let commit: @Sendable () -> Void = { [folder] in
      let result = Result { try Self.commit(file, in: folder) }
      saving.result.withLock { $0 = result }
    }
    saving.thread = WorkerThread.start(commit)
    if saving.thread == nil { commit() }
    self.saving = saving
    let now = ContinuousClock.now
    due = now + max(.seconds(folder.checkpoints.secondsMin), (now - begin) * Self.costFactor)
  }

  /// Saves a last checkpoint of a cut that stops, and waits for it.
  func close(_ state: PyramidState) throws {
    stop()
    try Self.commit(try write(state), in: folder)
  }

  /// Waits for a checkpoint that is on its way.
  func stop() {
    saving?.thread?.join()
    saving = nil
  }

  private func write(_ state: PyramidState) throws -> AtomicFile {
    try log.flush()
    let file = try AtomicFile(target: folder.checkpoint)
    do {
      try Checkpoint(pyramid: state, log: log.position, seconds: seconds).write(to: file.path)
      return file
    } catch {
      file.remove()
      throw error
    }
  }

  private static func commit(_ file: AtomicFile, in folder: CutWorkFolder) throws {
    do {
      try FileSystem.synchronise(folder.log)
      try file.publish(replacing: true)
    } catch {
      file.remove()
      throw error
    }
  }
}

/// Writes tiles to another sink and records them.
final class RecordedSink: TileSink {
  private let sink: any TileSink
  private let journal: CutJournal

  init(_ sink: any TileSink, _ journal: CutJournal) { (self.sink, self.journal) = (sink, journal) }

  var path: String { sink.path }
  var matrixSet: TileMatrixSet { sink.matrixSet }
  var format: TileFormat { sink.format }
  var mixing: Set<TileFormat> { sink.mixing }
  var tileCount: Int { sink.tileCount }

  func put(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws {
    try sink.put(tile, data)
    do {
      try journal.record(tile, data)
    } catch {
      throw OutputFile.failure(error, path)
    }
  }

  func write(places: [Place]) throws { try sink.write(places: places) }
  func finish(_ metadata: SinkMetadata) throws -> BundleSummary { try sink.finish(metadata) }
  func discard() { sink.discard() }
}
