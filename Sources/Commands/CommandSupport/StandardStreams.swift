import Foundation

/// Standard output and error, as a process that others start must treat them: closed, full, or a pipe that nobody reads any more.
package enum StandardStreams {
  /// Opens /dev/null in place of the standard streams that the caller closed. The next file opened would get their number, and messages would be written into it.
  package static func reserve() {
    var descriptor: Int32
    repeat { descriptor = open("/dev/null", O_RDWR) } while (0...STDERR_FILENO).contains(descriptor)
    if descriptor > STDERR_FILENO { close(descriptor) }
  }

  /// Writes to standard error. What cannot be written is lost: work does not depend on somebody watching it.
  package static func writeError(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
