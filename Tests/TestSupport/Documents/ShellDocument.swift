import Foundation

/// The commands of a Markdown document, in the order in which they stand: its blocks of `sh` (commands) and of
/// `console` (transcripts: a line that begins with `$ ` is a command, the lines below it are what it prints).
public struct ShellDocument: Sendable {
  public struct Step: Sendable {
    /// The line of the document, from 1.
    public let line: Int
    /// A command, with its continued lines and here-documents; or all commands of a block of `sh`.
    public var command: String
    /// What a transcript says of the output; nil in a block of `sh`, where every command has to succeed.
    public var output: [String]?
  }

  public let steps: [Step]

  /// - Parameter path: relative to the package's folder.
  public init(_ path: String) throws {
    let text = try String(contentsOfFile: ProjectFiles.path(path), encoding: .utf8)
    var steps: [Step] = []
    var language: String?
    for (index, line) in text.components(separatedBy: "\n").enumerated() {
      if let fence = line.firstMatch(of: /^```(\w*)/) {
        language = language == nil ? String(fence.1) : nil
        if language == "sh" { steps.append(Step(line: index + 1, command: "", output: nil)) }
      } else if language == "sh" {
        steps[steps.count - 1].command += line + "\n"
      } else if language == "console" {
        if line.hasPrefix("$ ") {
          steps.append(Step(line: index + 1, command: line.dropFirst(2) + "\n", output: []))
        } else if let last = steps.last, last.output == [], last.command.hasSuffix("\\\n") {
          steps[steps.count - 1].command += line + "\n"
        } else if steps.last?.output != nil {
          steps[steps.count - 1].output?.append(line)
        }
      }
    }
    self.steps = steps
  }

  /// Whether a program's output is what a transcript says: `…` stands for any text in a line, a line `...` for any
  /// lines.
  public static func output(_ lines: [String], matches expected: [String]) -> Bool {
    guard let first = expected.first else { return lines.isEmpty }
    let rest = Array(expected.dropFirst())
    if first == "..." {
      return (0...lines.count).contains { output(Array(lines.dropFirst($0)), matches: rest) }
    }
    guard let line = lines.first, matches(line, first) else { return false }
    return output(Array(lines.dropFirst()), matches: rest)
  }

  private static func matches(_ line: String, _ pattern: String) -> Bool {
    let parts = pattern.components(separatedBy: "…")
    guard line.hasPrefix(parts[0]) else { return false }
    var rest = line.dropFirst(parts[0].count)
    guard parts.count > 1 else { return rest.isEmpty }
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.range(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return rest.hasSuffix(parts[parts.count - 1])
  }
}
