import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Where a command writes a long output: standard output, a pipe or device, or a file that is published atomically
/// (``AtomicFile``).
package final class CommandOutput {
  /// The file to publish; nil for outputs that are written directly.
  private let file: AtomicFile?
  private let descriptor: Int32

  /// - Parameter path: nil for standard output.
  /// - Throws: ``FileSystem/SystemError``.
  package init(_ path: String?) throws {
    guard let path else {
      (file, descriptor) = (nil, dup(STDOUT_FILENO))
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      return
    }
    var status = stat()
    guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
      (file, descriptor) = (nil, open(path, O_WRONLY | O_CLOEXEC))
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      return
    }
    // The target of a symbolic link is replaced, not the link. Exports contain purchases, so only their owner may
    // read them.
    let file = try AtomicFile(target: FileSystem.resolvingLinks(path), mode: 0o600)
    (self.file, descriptor) = (file, open(file.path, O_WRONLY | O_CLOEXEC))
    guard descriptor >= 0 else {
      let error = FileSystem.SystemError(number: errno)
      file.remove()
      throw error
    }
  }

  /// - Throws: ``FileSystem/SystemError``.
  package func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try FileSystem.write($0, to: descriptor) }
  }

  /// Publishes the file.
  ///
  /// - Throws: ``FileSystem/SystemError``.
  package func finish() throws { try file?.publish(replacing: true) }

  deinit {
    close(descriptor)
    file?.remove()
  }
}
