import CSystemShim
import LibC
import Support

/// An output folder that is published atomically: it is filled under a hidden name beside its target, brought to the
/// disk, and renamed. Where the target is to be replaced, the two exchange their names in one step (Linux), and the old
/// one is removed.
package struct OutputFolder: Sendable {
  private let target: String
  private let replacing: Bool
  private let folder: AtomicFile

  /// The temporary folder, which the output is written into.
  package var path: String { folder.path }

  /// - Throws: ``BundleError``: `.exists` when the target holds something that may not be replaced, `.writeFailed`.
  package init(target: String, replacing: Bool) throws {
    try Self.check(target, replacing: replacing)
    self.target = target.withoutSlashes
    self.replacing = replacing
    do {
      folder = try AtomicFile(folder: self.target)
    } catch {
      throw OutputFile.failure(error, target)
    }
  }

  /// Publishes the finished folder under the target's name.
  package func commit() throws {
    do {
      try Self.synchronise(folder.path)
      try ChangeLock.publishing(target) {
        try Self.checkTarget(target, replacing: replacing)
        try folder.publish { path, target in
          if try Self.isFull(target), Self.exchange(path, target) {
            return try Self.removeReplaced(path, target: target)
          }
          // The system cannot exchange them: the target is missing for a moment.
          if try Self.isFull(target) {
            try ReplaceableFolder(target, target: target).check()
            FileSystem.removeTree(target)
          }
          try FileSystem.rename(path, replacing: target)
        }
      }
    } catch {
      throw OutputFile.failure(error, target)
    }
  }

  private static func exchange(_ path: String, _ target: String) -> Bool {
    SystemPath.withPointer(path) { path in SystemPath.withPointer(target) { csystem_exchange(path, $0) == 0 } }
  }

  /// Removes the folder that was replaced, or takes it back where other files have come since the last check.
  private static func removeReplaced(_ path: String, target: String) throws {
    do {
      try ReplaceableFolder(path, target: target).check()
      FileSystem.removeTree(path)
    } catch {
      guard exchange(path, target) else {
        // Under its temporary name it would be removed.
        return try FileSystem.rename(path, replacing: "\(target).replaced")
      }
      throw error
    }
  }

  /// Removes the temporary folder.
  package func remove() { folder.remove() }

  /// Checks whether a folder could be written, as far as can be known without writing.
  ///
  /// An empty folder may always be filled. One with other things than a folder of tiles has is never replaced
  /// (``ReplaceableFolder``).
  package static func check(_ target: String, replacing: Bool) throws {
    for attempt in 1... {
      guard try checkTarget(target, replacing: replacing) else { return }
      do {
        return try ReplaceableFolder(target.withoutSlashes, target: target).check()
      } catch  where attempt < attemptsMax {
        // Another process may have replaced it meanwhile, so that what was found is of the old one.
        usleep(1000)
      } catch let error as FileSystem.SystemError {
        throw OutputFile.writeFailed(target, error)
      }
    }
  }

  /// Of checks that may each find another folder.
  private static let attemptsMax = 5

  /// True for a folder with contents, which may be replaced if it is a folder of tiles.
  @discardableResult
  private static func checkTarget(_ target: String, replacing: Bool) throws -> Bool {
    let path = target.withoutSlashes
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw BundleError(.invalidName, path: target, "is not the name of a folder", remedy: "name the folder to write")
    }
    try OutputFile.refuseStandardOutput(target)
    try OutputFile.checkFolder(above: path)
    do {
      guard let status = try FileSystem.status(path, followingLinks: false) else { return false }
      guard status.kind == .folder else {
        throw BundleError(.writeFailed, path: target, "is not a folder", remedy: "choose another name")
      }
      // One that has just gone is no obstacle.
      guard (try? FileSystem.status(path)) != nil, try isFull(path) else { return false }
      guard replacing else { throw OutputFile.existing(target) }
      return true
    } catch let error as FileSystem.SystemError {
      throw OutputFile.writeFailed(target, error)
    }
  }

  /// True for a folder that is not empty.
  private static func isFull(_ path: String) throws -> Bool {
    var isFull = false
    try FileSystem.forEachName(in: path) { name in
      isFull = !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8)
      return !isFull
    }
    return isFull
  }

  /// One call for all files: syncing each would take a disk's time for each.
  private static func synchronise(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
    defer { close(descriptor) }
    guard csystem_sync_file_system(descriptor) == 0 else { throw FileSystem.SystemError(number: errno) }
  }
}
