@preconcurrency import LibC
import Support

// Not Foundation: its import would forbid the C library's `stdout`, a mutable global.

/// Standard output and error. The caller may have closed them, or they may be full, or a pipe without a reader.
package enum StandardStreams {
  /// Opens /dev/null in place of the standard streams that the caller closed. Otherwise the next file opened would get
  /// their number, and messages would be written into it.
  package static func reserve() {
    var descriptor: Int32
    repeat { descriptor = open("/dev/null", O_RDWR) } while (0...STDERR_FILENO).contains(descriptor)
    if descriptor > STDERR_FILENO { close(descriptor) }
  }

  /// Writes to standard error. Errors are ignored: the work does not depend on a reader of its messages.
  package static func writeError(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Writes what `print` has buffered; false when standard output did not take everything that was printed.
  ///
  /// Text that did not fit into the buffer was written before: a failure of that shows in the stream's error flag only.
  package static func flush() -> Bool { fflush(nil) == 0 && ferror(stdout) == 0 }
}

extension CommandLine {
  /// The arguments behind the program's name, as the system gives them: names of files in them may be no UTF-8
  /// (`SystemPath`).
  package static let words: [String] = (1..<max(1, Int(argc))).compactMap { number in
    unsafeArgv[number].map { SystemPath.text($0) }
  }
}

/// Prints a line to standard output. Control characters are escaped, line breaks too: text from outside can neither
/// change what was printed before nor look like a line of the command.
package func printLine(_ line: String) { print(line.escapedForTerminal()) }

/// Prints lines that the command composed. Line breaks are kept, so text from outside must have none; other control
/// characters are escaped.
package func printText(_ text: String, terminator: String = "\n") {
  print(text.escapedForTerminal(keepingLines: true), terminator: terminator)
}

/// Writes a line to standard error, escaped as ``printLine(_:)`` does.
///
/// Removes source locations (`at /src/File.swift:12`) from errors of libraries: they are paths on the build machine.
package func printError(_ text: String) {
  let text = text.replacing(#/\ (at\ )?[^\ "'()\[\]]+\.(swift|cc|cpp|c|h):\d+/#, with: "")
  StandardStreams.writeError(text.escapedForTerminal(isMessage: true) + "\n")
}
