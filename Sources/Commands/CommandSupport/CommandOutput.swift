import LibC
import Support

/// Where a command writes a long output: standard output, a pipe or device, or a file that is published atomically
/// (``AtomicFile``).
package final class CommandOutput {
  /// The file to publish; nil for outputs that are written directly.
  private let file: AtomicFile?
  private let descriptor: Int32
  private let replacing: Bool

  /// - Parameters:
  ///   - path: nil for standard output.
  ///   - replacing: whether a file that exists is replaced. Pipes and devices are written in any case.
  /// - Throws: ``FileSystem/SystemError``; its number is EEXIST for a file that may not be replaced.
  package init(_ path: String?, replacing: Bool) throws {
    self.replacing = replacing
    guard let path else {
      (file, descriptor) = (nil, dup(STDOUT_FILENO))
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      return
    }
    let kind = FileSystem.kind(path)
    guard kind == nil || kind == .file else {
      (file, descriptor) = (nil, open(path, O_WRONLY | O_CLOEXEC))
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      return
    }
    // Before hours of work; another program may still take the name meanwhile.
    if kind != nil, !replacing { throw FileSystem.SystemError(number: EEXIST) }
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
  package func finish() throws { try file?.publish(replacing: replacing) }

  deinit {
    close(descriptor)
    file?.remove()
  }
}
