import Foundation

/// The examples between `// README begins` and `// README ends` in a test's source, as README.md or the tutorial for
/// apps must have them.
public enum ReadmeExamples {
  /// Each example as a Swift block that imports one module.
  ///
  /// - Parameters:
  ///   - path: the test's own source.
  ///   - modules: the module that each example imports, in order.
  /// - Returns: nil when the numbers of examples and modules differ.
  public static func blocks(inSource path: String, importing modules: [String]) throws -> [String]? {
    let source = try String(contentsOfFile: path, encoding: .utf8)
    let examples = source.components(separatedBy: "// README begins\n").dropFirst().map { part in
      part.components(separatedBy: "    // README ends")[0].split(separator: "\n").map { $0.dropFirst(4) }
    }
    guard examples.count == modules.count else { return nil }
    return zip(examples, modules).map { example, module in
      "```swift\nimport \(module)\n\n\(example.joined(separator: "\n"))\n```"
    }
  }

  /// README.md and the tutorial.
  public static func readme() throws -> String {
    try ["README.md", "docs/tutorials/embed.md"].map {
      try String(contentsOfFile: ProjectFiles.path($0), encoding: .utf8)
    }.joined(separator: "\n")
  }
}
