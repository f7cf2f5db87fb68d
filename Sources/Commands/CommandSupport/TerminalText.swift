/// Prints a line to standard output. Whatever a terminal would obey in it is escaped, a line break too: text from outside can neither paint over what was
/// printed nor pass for a line of ours.
package func printLine(_ line: String) { print(line.escapedForTerminal(keepingLines: false)) }

/// Prints lines of our making. What was put into them must have no line breaks of its own; everything else that a terminal would obey is escaped.
package func printText(_ text: String, terminator: String = "\n") {
  print(text.escapedForTerminal(keepingLines: true), terminator: terminator)
}

/// Writes to standard error, as ``printText(_:terminator:)`` does. Errors of libraries name the place in their source where
/// they were found; it says nothing to people, and is a path of whoever built them.
package func printError(_ text: String) {
  let text = text.replacing(#/\ (at\ )?[^\ "'()\[\]]+\.(swift|cc|cpp|c|h):\d+/#, with: "")
  StandardStreams.writeError(text.escapedForTerminal(keepingLines: true) + "\n")
}

extension String {
  /// The text with `\u001b` in the place of control characters (C0, DEL, C1), marks and overrides of direction, and line separators.
  ///
  /// The escapes are those of JSON, where such characters stand in strings alone: JSON stays JSON and says the same.
  ///
  /// - Complexity: O(bytes); plain ASCII is looked through and not copied.
  package func escapedForTerminal(keepingLines: Bool) -> String {
    var text = self
    let isPlain = text.withUTF8 { bytes in
      bytes.allSatisfy { (0x20..<0x7f).contains($0) || ($0 == 0x0a && keepingLines) }
    }
    if isPlain { return text }
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where keepingLines: escaped.unicodeScalars.append(scalar)
      case "\n": escaped += #"\n"#
      case "\r": escaped += #"\r"#
      case "\t": escaped += #"\t"#
      case _ where scalar.movesTerminal:
        let digits = String(scalar.value, radix: 16)
        escaped += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension Unicode.Scalar {
  /// C0, DEL and C1; U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069, which change the order in which text is read; line and paragraph separators.
  fileprivate var movesTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }
}
