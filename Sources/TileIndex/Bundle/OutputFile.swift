import Support

/// An output that is published atomically (``AtomicFile``): a bundle, a patch or a small file. Its errors name the
/// target and the remedy.
package struct OutputFile: Sendable {
  /// The path that the caller named.
  private let target: String
  private let replacing: Bool
  private let file: AtomicFile

  /// The temporary file, which the output is written into.
  var path: String { file.path }

  /// - Throws: ``BundleError``: `.exists` when the target exists and may not be replaced, `.busy` when there are
  ///   unmerged changes beside it, `.writeFailed` when its folder cannot be written to.
  init(target: String, replacing: Bool) throws {
    try Self.check(target, replacing: replacing)
    self.target = target
    self.replacing = replacing
    do {
      file = try AtomicFile(target: target)
    } catch let error as FileSystem.SystemError {
      throw BundleError(
        .writeFailed, path: target, "no file can be written in \(FileSystem.split(target).folder): \(error)",
        remedy: error.isDiskFull ? "free space or choose another disk" : "choose a folder you may write to")
    }
  }

  /// Publishes the finished file under the target's name.
  func commit() throws {
    do {
      try ChangeLock.publishing(target) { try publish() }
    } catch let error as FileSystem.SystemError {
      throw error.isExisting ? Self.existing(target) : Self.writeFailed(target, error)
    }
  }

  private func publish() throws {
    if replacing {
      try Self.checkTarget(target, replacing: true)
      // SQLite would take empty side files of the previous bundle for the new one's.
      for suffix in AtomicFile.sideFiles { FileSystem.remove(target + suffix) }
    }
    try file.publish(replacing: replacing)
  }

  /// Removes the temporary file.
  func remove() { file.remove() }

  /// Writes a small file in one call.
  ///
  /// - Throws: ``BundleError``: `.exists`, `.writeFailed`.
  package static func write(_ bytes: [UInt8], to path: String, replacing: Bool) throws {
    let file = try OutputFile(target: path, replacing: replacing)
    do {
      try FileSystem.write(bytes, to: file.path)
      // No change in place is at work on a small file.
      try file.publish()
    } catch {
      file.remove()
      guard let error = error as? FileSystem.SystemError else { throw error }
      if error.isExisting { throw existing(path) }
      if error.isDiskFull { throw diskFull(path) }
      throw BundleError(.writeFailed, path: path, "could not be written: \(error)", remedy: error.writingRemedy)
    }
  }

  /// Removes the temporary files of all writers of this process and ends it. For a command that is stopped.
  package static func abandonAll(_ end: () -> Never) -> Never { AtomicFile.abandonAll(end) }

  /// Protects inputs from being replaced by the output.
  ///
  /// - Throws: ``BundleError`` `.isInput` when the output is one of the inputs, by whatever names and links.
  package static func protect(_ inputs: [String], from output: String) throws {
    guard let target = FileIdentity(path: output) else { return }
    for input in inputs where FileIdentity(path: input) == target {
      throw BundleError(.isInput, path: output, "is the input \(input) itself", remedy: "give the output another name")
    }
  }

  // MARK: - Checks before anything is written

  /// Checks whether a file could be written, as far as can be known without writing.
  ///
  /// - Throws: ``BundleError`` as ``BundleWriter/init(path:matrixSet:format:replacing:)`` would.
  package static func check(_ target: String, replacing: Bool) throws {
    guard !target.isEmpty, !target.utf8.contains(0), !target.hasSuffix("/") else {
      throw BundleError(.invalidName, path: target, "is not the name of a file", remedy: "name the file to write")
    }
    try refuseStandardOutput(target)
    try checkFolder(above: target)
    try checkTarget(target, replacing: replacing)
  }

  /// Refuses the name that stands for standard output elsewhere: what is written here is not written in one go.
  static func refuseStandardOutput(_ target: String) throws {
    guard target == "-" else { return }
    throw BundleError(
      .invalidName, path: target, "cannot be written to standard output",
      remedy: "name a file, and ./- where it shall be called so")
  }

  /// Checks that the folder that an output is to lie in exists.
  static func checkFolder(above target: String) throws {
    let folder = FileSystem.split(target).folder
    switch Result(catching: { try FileSystem.status(folder) }) {
    case .success(.some(let status)) where status.kind == .folder: break
    case .failure(let error):
      throw BundleError(
        .writeFailed, path: target, "the folder \(folder) cannot be read: \(error)", remedy: "check its permissions")
    default:
      throw BundleError(
        .writeFailed, path: target, "there is no folder \(folder)",
        remedy: "create it first: mkdir -p \(folder.shellQuoted)")
    }
  }

  private static func checkTarget(_ target: String, replacing: Bool) throws {
    do {
      if let status = try FileSystem.status(target) {
        guard status.kind == .file else {
          throw BundleError(
            .writeFailed, path: target, status.kind == .folder ? "is a folder" : "is not a plain file",
            remedy: status.kind == .folder
              ? "name the file to write; a slash at the end asks for a folder of tiles" : "name the file to write")
        }
        guard replacing else { throw existing(target) }
      }
    } catch let error as FileSystem.SystemError {
      throw writeFailed(target, error)
    }
    // SQLite would apply these to whatever file has the target's name.
    for suffix in ["-wal", "-journal"] where FileSystem.size(target + suffix) > 0 {
      throw BundleError(
        .busy, path: target, "changes to it that were never merged lie beside it in \(target)\(suffix)",
        remedy: "close the program that writes it, merge them with: sqlite3 '\(target)' .tables")
    }
  }

  // MARK: - Errors

  static func diskFull(_ target: String) -> BundleError {
    BundleError(
      .writeFailed, path: target, "the disk is full", remedy: "free space or choose another disk, then write it again")
  }

  /// The error for a failed step of writing an output; other errors than the system's as they are.
  package static func failure(_ error: any Error, _ target: String) -> any Error {
    (error as? FileSystem.SystemError).map { writeFailed(target, $0) } ?? error
  }

  static func writeFailed(_ target: String, _ error: FileSystem.SystemError) -> BundleError {
    if error.isDiskFull { return diskFull(target) }
    return BundleError(
      .writeFailed, path: target, "the bundle could not be written: \(error)", remedy: error.writingRemedy)
  }

  static func existing(_ target: String) -> BundleError {
    BundleError(
      .exists, path: target, "already exists", remedy: "choose another name, or allow it to be replaced",
      repair: .replace)
  }
}
