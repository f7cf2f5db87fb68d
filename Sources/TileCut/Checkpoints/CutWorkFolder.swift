import Support
import TileIndex

/// Makes a cut one that can be continued: `tilecut cut --resume`.
public struct CutCheckpoints: Sendable {
  /// Version and build: another may cut other bytes, and does not continue the work.
  package let toolVersion: String
  /// The least time between two checkpoints. It grows with what they cost.
  package var secondsMin: Double
  /// Called before a cut goes on, with the tiles that were done and those of all.
  package var onContinuing: (@Sendable (_ tilesDone: Int, _ tilesTotal: Int) -> Void)?

  public init(toolVersion: String, secondsMin: Double = 0.25) {
    (self.toolVersion, self.secondsMin) = (toolVersion, secondsMin)
  }

  /// What a cut that was stopped has left.
  package struct Leftover: Sendable {
    /// The folder with the work.
    package let folder: String
    /// Of ``tilesTotal``, when the last checkpoint was saved.
    package let tilesDone: Int
    package let tilesTotal: Int
    /// About what the rest takes on the disk, if its tiles are like those that are done: the work of all tiles, and the
    /// bundle beside it until that is complete. Nil where no tile is done.
    package let bytesToFree: Int?
    /// Whether a running cut uses it.
    package let isInUse: Bool
  }

  /// What a cut that was stopped has left for an output; nil if there is nothing.
  package static func leftover(of output: String) -> Leftover? { CutWorkFolder.leftover(of: output) }

  /// Whether an output that exists may be the one that a cut published when it was killed. To continue that cut
  /// publishes the same bytes again.
  package static func isPublishing(_ output: String) -> Bool { CutWorkFolder.isPublishing(output) }

  /// Removes what a cut that was stopped has left. Does nothing where a running cut uses it.
  package static func removeLeftover(of output: String) {
    guard let leftover = leftover(of: output), !leftover.isInUse else { return }
    FileSystem.removeTree(leftover.folder)
  }
}

/// The folder beside the output that keeps the work of a cut until it is finished: `.NAME.resume`.
///
/// `cut.json` says what is cut (``CutIdentity``), `tiles.log` and `checkpoint` how far (``CutJournal``). `lock` is
/// locked by the cut that runs. `publishing` says that the bundle is complete and gets its name.
final class CutWorkFolder: Sendable {
  let checkpoints: CutCheckpoints
  private let path: String
  private let output: String
  private let lock: FolderLock

  var log: String { "\(path)/tiles.log" }
  var checkpoint: String { "\(path)/checkpoint" }
  private var facts: String { Self.facts(path) }
  private var publishing: String { Self.publishing(path) }

  private static func facts(_ folder: String) -> String { "\(folder)/cut.json" }
  private static func publishing(_ folder: String) -> String { "\(folder)/publishing" }
  private static func lock(_ folder: String) -> String { "\(folder)/lock" }

  private static func path(for output: String) -> String {
    let (folder, last) = FileSystem.split(output.withoutSlashes)
    return "\(folder)/.\(last).resume"
  }

  /// Locks the folder for a cut. Makes it, or checks that it holds the same cut.
  ///
  /// - Throws: `BundleError`: `.busy` if another cut uses it, `.writeFailed`; ``CutError`` `.invalidOption` if it holds
  ///   another cut.
  init(output: String, identity: CutIdentity, tilesTotal: Int, _ checkpoints: CutCheckpoints) throws {
    (self.output, self.checkpoints) = (output, checkpoints)
    path = Self.path(for: output)
    if let foreign = Self.foreignName(in: path) {
      throw CutError(
        .invalidOption, path: output, "its work would lie in \(path), which holds \(foreign) of another program",
        remedy: "move that folder away, or choose another output")
    }
    do {
      lock = try Self.locked(path, output: output)
      if try FileSystem.status(Self.facts(path)) != nil {
        guard let json = try? JSONFile.read(Self.facts(path)), let earlier = CutIdentity(json) else {
          throw Self.unusable(output, path, "is not understood")
        }
        if let difference = identity.difference(from: earlier) {
          throw CutError(
            .invalidOption, path: output, "the cut that was stopped is not continued: \(difference)",
            remedy: "give the same sources and options, or start anew with --force and without --resume")
        }
      } else {
        // A cut that was killed at once has left nothing that counts.
        for name in FileSystem.names(in: path) where name != "lock" { FileSystem.removeTree("\(path)/\(name)") }
        let json = JSONValue.object((identity.json.members ?? []) + [.init("tiles", .number(tilesTotal))])
        try AtomicFile.write(Array((json.indentedText + "\n").utf8), to: facts)
      }
    } catch {
      throw OutputFile.failure(error, output)
    }
  }

  /// A name that no cut gives a file in its folder; nil where there is none, or no such folder.
  private static func foreignName(in folder: String) -> String? {
    let own: Set<String> = ["lock", "cut.json", "checkpoint", "tiles.log", "publishing"]
    return FileSystem.names(in: folder).first { name in
      !own.contains(name) && !own.contains { name.hasPrefix(".\($0).") && name.hasSuffix(".partial") }
    }
  }

  /// Where the cut stopped; the beginning if nothing is on the disk.
  ///
  /// - Parameter sink: gets the tiles that were cut.
  /// - Throws: ``CutError`` `.badSource` if the folder is damaged; errors of the sink.
  func resume(into sink: any TileSink, matrix: TileMatrix) throws -> Checkpoint {
    do {
      guard try FileSystem.status(checkpoint) != nil else { return .beginning }
      guard let found = try Checkpoint(path: checkpoint, matrix: matrix),
        try TileLog.read(log, to: found.log, { try sink.put($0, $1) })
      else { throw Self.unusable(output, path, "is damaged") }
      return found
    } catch let error as BundleError where error.code == .invalidContent {
      throw Self.unusable(output, path, "is damaged")
    } catch {
      throw OutputFile.failure(error, output)
    }
  }

  /// Whether the bundle of this cut may have got its name already. A cut that is killed between that and the removal of
  /// its folder is complete, and to publish the same bytes again does no harm.
  var isPublishing: Bool { FileSystem.kind(publishing) == .file }

  /// Notes that the bundle gets its name now, or that it did not.
  func setPublishing(_ value: Bool) throws {
    if value { try AtomicFile.write([], to: publishing) } else { FileSystem.remove(publishing) }
  }

  /// Removes the folder of a cut that is complete, or that nothing is left to continue of.
  func remove() { FileSystem.removeTree(path) }

  /// Removes the folder of a cut that failed before its first tile.
  func removeIfEmpty() {
    if FileSystem.kind(checkpoint) != .file || Checkpoint.tilesDone(inFile: checkpoint) == 0 { remove() }
  }

  static func isPublishing(_ output: String) -> Bool { FileSystem.kind(publishing(path(for: output))) == .file }

  static func leftover(of output: String) -> CutCheckpoints.Leftover? {
    let folder = path(for: output)
    guard (try? FileSystem.status(folder, followingLinks: false))?.kind == .folder, foreignName(in: folder) == nil
    else { return nil }
    // Never for long: a cut that ends releases the lock.
    let isFree = (try? FolderLock(lock(folder))) != nil
    let facts = try? JSONFile.read(facts(folder))
    let total = if case .number(let digits)? = facts?["tiles"] { Int(digits) } else { nil as Int? }
    let done = Checkpoint.tilesDone(inFile: "\(folder)/checkpoint") ?? 0
    let bytes = Double(FileSystem.size("\(folder)/tiles.log"))
    return CutCheckpoints.Leftover(
      folder: folder, tilesDone: done, tilesTotal: total ?? 0,
      bytesToFree: done == 0 ? nil : Int(2 * bytes * Double(max(total ?? 0, done)) / Double(done) - bytes),
      isInUse: !isFree)
  }

  private static func locked(_ path: String, output: String) throws -> FolderLock {
    for _ in 0..<10 {
      do { try FileSystem.makeFolder(path) } catch let error as FileSystem.SystemError where error.isExisting {}
      do {
        guard let lock = try FolderLock(lock(path)) else {
          throw BundleError(
            .busy, path: output, "another tilecut cuts it with --resume",
            remedy: "wait for that one, or choose another name")
        }
        // The cut that held it before may have finished and removed the folder.
        if lock.isOf(Self.lock(path)) { return lock }
      } catch let error as FileSystem.SystemError where error.isMissing {}
    }
    throw BundleError(.busy, path: output, "other cuts of it begin and end", remedy: "try again")
  }

  private static func unusable(_ output: String, _ folder: String, _ what: String) -> CutError {
    CutError(
      .badSource, path: output, "what the cut that was stopped left in \(folder) \(what)",
      remedy: "start anew with --force and without --resume")
  }
}
