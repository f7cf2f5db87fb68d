import Support

/// Prints a line to standard output. Whatever a terminal would obey in it is escaped, a line break too: text from outside can neither paint over what was
/// printed nor pass for a line of ours.
package func printLine(_ line: String) { print(line.escapedForTerminal()) }

/// Prints lines of our making. What was put into them must have no line breaks of its own; everything else that a terminal would obey is escaped.
package func printText(_ text: String, terminator: String = "\n") {
  print(text.escapedForTerminal(keepingLines: true), terminator: terminator)
}

/// Writes a line to standard error, as ``printLine(_:)`` does. Errors of libraries name the place in their source where
/// they were found; it says nothing to people, and is a path of whoever built them.
package func printError(_ text: String) {
  let text = text.replacing(#/\ (at\ )?[^\ "'()\[\]]+\.(swift|cc|cpp|c|h):\d+/#, with: "")
  StandardStreams.writeError(text.escapedForTerminal() + "\n")
}
