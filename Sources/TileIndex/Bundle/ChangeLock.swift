import Support

/// Lets one change of a bundle happen at a time. A change reads a bundle and publishes another in its place: what a
/// second one published in between would be lost.
///
/// The lock is that of the system on an empty file beside the bundle, `.NAME.lock`, and ends with the process. The
/// bundle itself is no place for it: it is another file after each change, and SQLite has locks of its own there. The
/// file is removed with the lock; one that a killed process left is taken up by the next change. In a folder that takes
/// no files, a folder of tiles is locked itself.
package final class ChangeLock: Sendable {
  /// How long a change waits for another one.
  private static let secondsMax = 5

  /// That of the change that this thread or task is at.
  @TaskLocal private static var current: ChangeLock?

  private let file: String
  private let lock: FolderLock

  /// Runs a change of a bundle in place.
  ///
  /// - Parameter body: gets the bundle's path, of a symbolic link that of the file behind it: a bundle that is replaced
  ///   under the name of a link would leave that file as it was.
  /// - Throws: ``BundleError`` `.busy` when another change goes on for five seconds, `.writeFailed` when the folder
  ///   cannot be written to.
  package static func changing<Result>(_ path: String, _ body: (_ path: String) throws -> Result) throws -> Result {
    // The change itself says best what is wrong with a bundle that is not there.
    guard FileSystem.kind(path) != nil else { return try body(path) }
    let isLink = (try? FileSystem.status(path.withoutSlashes, followingLinks: false))?.kind == .other
    let target = isLink ? FileSystem.resolvingLinks(path.withoutSlashes) : path
    let deadline = ContinuousClock.now + .seconds(secondsMax)
    let lock: ChangeLock
    do {
      guard let taken = try ChangeLock(target, until: deadline) else {
        throw BundleError(
          .busy, path: path, "another program is changing it", remedy: "wait until it is done, then try again")
      }
      lock = taken
    } catch let error as FileSystem.SystemError {
      throw BundleError(.writeFailed, path: path, "cannot be locked: \(error)", remedy: error.writingRemedy)
    }
    defer { lock.end() }
    return try $current.withValue(lock) { try body(target) }
  }

  /// Whether two paths name one bundle, by whatever links.
  package static func areSame(_ a: String, _ b: String) -> Bool {
    guard let a = try? FileSystem.realPath(a), let b = try? FileSystem.realPath(b) else { return false }
    return a == b
  }

  /// Runs the step that gives a finished output its name. It waits for a change of the file that has the name, however
  /// long that takes: hours of work may be in the output.
  package static func publishing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    // Nobody changes what is not there.
    guard try FileSystem.status(path.withoutSlashes) != nil, try file(for: path) != current?.file else {
      return try body()
    }
    // Where the system has no locks, nothing is changed in place.
    let lock = try? ChangeLock(path, until: nil)
    defer { lock?.end() }
    return try body()
  }

  private init?(_ path: String, until deadline: ContinuousClock.Instant?) throws {
    let file = try Self.file(for: path)
    self.file = file
    var taken: FolderLock?
    do {
      while true {
        taken = try AtomicFile.makeTemporary(file) {
          // The change that held the lock before may have removed the file meanwhile.
          try FolderLock(file, until: .now).flatMap { $0.isOf(file) ? $0 : nil }
        }
        if taken != nil { break }
        if let deadline, ContinuousClock.now >= deadline { return nil }
        FolderLock.pause()
      }
    } catch let error as FileSystem.SystemError {
      // Documents in a folder may be written although nothing can be written beside it.
      let isFolder = FileSystem.kind(path) == .folder
      guard isFolder, error.isForbidden || error.isReadOnly else { throw error }
      taken = try FolderLock(path, isFolder: true, until: deadline)
    }
    guard let taken else { return nil }
    lock = taken
  }

  /// Removes the file while it is still locked. What is not empty is not ours.
  private func end() {
    AtomicFile.removeTemporary(file) {
      if lock.isOf(file), FileSystem.size(file) == 0 { FileSystem.remove(file) }
    }
  }

  private static func file(for path: String) throws -> String {
    let (folder, name) = FileSystem.split(path.withoutSlashes)
    return "\(try FileSystem.realPath(folder))/\(AtomicFile.stem(name)).lock"
  }
}
