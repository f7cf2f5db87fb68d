package import Foundation
import Synchronization

/// A file that gets its name when it is whole, and replaces what had it; until then it lies hidden beside it. What is no regular file, a pipe or a device, is written to as it comes.
package final class WholeFile {
  /// What the system said, for a message that names the file.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    init() { description = String(cString: strerror(errno)).lowercased() }
  }

  /// Those of this process that are not whole.
  private static let unfinished = Mutex<Set<String>>([])

  private let path: String
  private let partial: String?
  private let descriptor: Int32

  /// - Parameter path: nil for standard output.
  /// - Throws: ``Failure``.
  package init(_ path: String?) throws {
    guard let path else {
      (self.path, partial, descriptor) = ("", nil, dup(STDOUT_FILENO))
      guard descriptor >= 0 else { throw Failure() }
      return
    }
    var status = stat()
    guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
      (self.path, partial, descriptor) = (path, nil, open(path, O_WRONLY | O_CLOEXEC))
      guard descriptor >= 0 else { throw Failure() }
      return
    }
    // Of a link the file that it names is replaced, not the link.
    let target = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    let partial = target.deletingLastPathComponent()
      .appendingPathComponent(".\(target.lastPathComponent).\(getpid()).partial").path
    (self.path, self.partial) = (target.path, partial)
    // What commands write so is a shop's books: for whoever runs them, and for others when that person says so.
    descriptor = open(partial, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw Failure() }
    _ = Self.unfinished.withLock { $0.insert(partial) }
  }

  /// Takes away what is not whole, before a signal ends the process.
  package static func removeUnfinished() {
    for path in unfinished.withLock({ $0 }) { unlink(path) }
  }

  /// - Throws: ``Failure``.
  package func write(_ bytes: Data) throws {
    try bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Failure() }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// Puts the file on the disk and under its name.
  ///
  /// - Throws: ``Failure``.
  package func finish() throws {
    guard let partial else { return }
    guard fsync(descriptor) == 0, rename(partial, path) == 0 else { throw Failure() }
    _ = Self.unfinished.withLock { $0.remove(partial) }
  }

  deinit {
    close(descriptor)
    if let partial, Self.unfinished.withLock({ $0.remove(partial) }) != nil { unlink(partial) }
  }
}
