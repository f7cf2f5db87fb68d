import Foundation
import TestSupport
import Testing

/// README.md and docs/: links lead somewhere, and quoted messages are the commands' own.
@Suite struct DocumentTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: ProjectFiles.path(path), encoding: .utf8)
  }

  /// The files below a folder whose names have one of the endings.
  private static func files(below folder: String, _ endings: String...) throws -> [String] {
    let names = try #require(FileManager.default.enumerator(atPath: ProjectFiles.path(folder)))
    return names.compactMap { $0 as? String }.filter { endings.contains(where: $0.hasSuffix) }.sorted().map {
      "\(folder)/\($0)"
    }
  }

  private static var documents: [String] {
    get throws { ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] + (try files(below: "docs", ".md")) }
  }

  /// The name by which a link reaches a heading: lower case, hyphens for spaces, no punctuation.
  private static func anchors(_ text: String) -> Set<String> {
    Set(
      text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
        let title = line.drop { $0 == "#" || $0 == " " }.lowercased()
        return String(
          title.compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" ? $0 : nil })
      })
  }

  @Test func everyLinkLeadsToAFileAndAHeading() throws {
    for document in try Self.documents + ["CHANGELOG.md", "sample-regions/README.md", "examples/README.md"] {
      let text = try Self.text(document)
      let folder = URL(fileURLWithPath: "/\(document)").deletingLastPathComponent()
      for match in text.matches(of: /\]\(([^)#\s:]*)(?:#([^)\s]*))?\)/) {
        let path =
          match.1.isEmpty
          ? document : String(folder.appendingPathComponent(String(match.1)).standardized.path.dropFirst())
        guard FileManager.default.fileExists(atPath: ProjectFiles.path(path)) else {
          Issue.record("\(document): there is no \(path)")
          continue
        }
        guard let anchor = match.2, path.hasSuffix(".md") else { continue }
        #expect(Self.anchors(try Self.text(path)).contains(String(anchor)), "\(document): \(path) has no #\(anchor)")
      }
    }
  }

  /// Sources, tests, scripts, units, schemas and help texts name documents by their paths.
  @Test func everyDocumentThatIsNamedIsThere() throws {
    let files =
      try Self.documents + ["Makefile", "Package.swift", "CHANGELOG.md", "docs/reference/openapi.yaml"]
      + Self.files(below: "Sources", ".swift", ".c", ".h") + Self.files(below: "Tests", ".swift", ".txt")
      + Self.files(below: "Benchmarks", ".swift") + Self.files(below: "scripts", ".sh", ".py")
      + Self.files(below: "packaging", ".service", ".timer") + Self.files(below: "docs", ".json")
      + Self.files(below: "sample-regions", ".json", ".md")
    for file in files {
      for match in try Self.text(file).matches(of: /\bdocs\/(?:[a-z-]+\/)*[A-Za-z.-]+\.(?:md|yaml|json)\b/) {
        #expect(FileManager.default.fileExists(atPath: ProjectFiles.path(String(match.0))), "\(file): \(match.0)")
      }
    }
  }

  /// The formatter does not break comments and documents. Tables and pictures stay on a line.
  @Test func proseHasAtMost120Columns() throws {
    for document in try Self.documents + ["CHANGELOG.md", "sample-regions/README.md", "examples/README.md"] {
      var isCode = false
      for line in try Self.text(document).split(separator: "\n") {
        let start = line.drop { $0 == " " }
        if start.hasPrefix("```") { isCode.toggle() }
        guard !isCode, !start.hasPrefix("|"), !start.hasPrefix("![") else { continue }
        #expect(line.count <= 120, "\(document): \(line)")
      }
    }
    for file in try ["Sources", "Tests", "Benchmarks", "Fuzz", "examples"].flatMap({
      try Self.files(below: $0, ".swift")
    })
    where !file.contains("/.build/") {
      for line in try Self.text(file).split(separator: "\n") where line.drop(while: { $0 == " " }).hasPrefix("//") {
        #expect(line.count <= 120, "\(file): \(line)")
      }
    }
  }

  @Test func everyDocumentIsInTheIndex() throws {
    let index = try Self.text("docs/README.md")
    for document in try Self.documents where document.hasPrefix("docs/") && !document.hasPrefix("docs/history/") {
      guard document != "docs/README.md" else { continue }
      #expect(index.contains("(\(document.dropFirst("docs/".count))"), "\(document)")
    }
  }

  @Test func troubleshootingQuotesMessagesOfTheCommands() throws {
    let rows = try Self.text("docs/how-to/troubleshooting.md").matches(of: /(?m)^\| `([^`]+)` \|/).map {
      String($0.1)
    }
    try #require(rows.count >= 8)
    let sources = try Self.files(below: "Sources", ".swift").map { try Self.text($0) }
    for message in rows { #expect(sources.contains { $0.contains(message) }, "\(message)") }
  }

  /// The configuration of docs/how-to/stores.md is read up to its first file, which is not there, by the commands of
  /// the first night.
  @Test func storesAreSetUpWithWhatTheCommandsRead() throws {
    let page = try Self.text("docs/how-to/stores.md")
    let file = try #require(page.firstMatch(of: /(?s)```json\n(.*?)```/))
    let folder = try TemporaryFolder()
    try folder.write("ledger.json", String(file.1))
    let timer = try #require(page.firstMatch(of: /(?s)```\n(purchase-ledger .*?)\n```/))
    let commands = timer.1.split(separator: "\n")
    try #require(commands.count == 6)
    for command in commands {
      let words = command.split(separator: " ").dropFirst().map(String.init)
      let run = try Command(built: "purchase-ledger").run(words, in: folder.path)
      #expect(run.stderr.contains("AppleRootCA-G3.cer: cannot be read"), "\(command): \(run)")
    }
  }
}
