/// Writes a file that is there as a whole or not at all, by the same way as bundles: a temporary file beside it, fsync, rename.
package enum OutputFile {
  /// - Throws: ``BundleError``: `.exists`, `.notFound` without a folder, `.writeFailed`.
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
}
