import Support

/// Writes a file that is there as a whole or not at all, by the same way as bundles: a temporary file beside it, fsync, rename.
package enum OutputFile {
  /// - Throws: ``BundleError``: `.exists`, `.writeFailed`.
  package static func write(_ bytes: [UInt8], to path: String, replacing: Bool) throws {
    let file = try PartialFile(target: path, replacing: replacing)
    do {
      try FileSystem.write(bytes, to: file.path)
      try file.commit()
    } catch {
      file.remove()
      guard let error = error as? FileSystem.SystemError else { throw error }
      if error.isDiskFull { throw PartialFile.diskFull(path) }
      throw BundleError(.writeFailed, path: path, "could not be written: \(error)")
    }
  }

  /// Says beforehand whether a file could be written here, by what can be seen without writing.
  ///
  /// - Throws: ``BundleError`` as ``BundleWriter/init(path:matrixSet:format:replacing:)`` would.
  package static func check(_ path: String, replacing: Bool) throws {
    try PartialFile.check(path, replacing: replacing)
  }

  /// For a command that is stopped: removes the unfinished files of all writers of this process, then ends it. What has its name by then is whole.
  package static func abandonAll(_ end: () -> Never) -> Never { PartialFile.abandonAll(end) }

  /// Inputs are somebody's originals: no wish to replace a file may take them away.
  ///
  /// - Throws: ``BundleError`` `.isInput` when the output is one of the inputs, by whatever names and links.
  package static func protect(_ inputs: [String], from output: String) throws {
    guard let target = try? FileSystem.status(output) else { return }
    for input in inputs where (try? FileSystem.status(input))??.identity == target.identity {
      throw BundleError(.isInput, path: output, "is the input \(input) itself", remedy: "give the output another name")
    }
  }
}
