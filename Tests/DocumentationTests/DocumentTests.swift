import Foundation
import TestSupport
import Testing

/// README.md and docs/: links lead somewhere, and quoted messages are the commands' own.
@Suite struct DocumentTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: ProjectFiles.path(path), encoding: .utf8)
  }

  private static var documents: [String] {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.path("docs"))
      return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    }
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
    for document in try Self.documents {
      let text = try Self.text(document)
      let folder = document.hasPrefix("docs/") ? "docs/" : ""
      for match in text.matches(of: /\]\(([^)#\s:]*)(?:#([^)\s]*))?\)/) {
        let path = match.1.isEmpty ? document : folder + match.1
        guard FileManager.default.fileExists(atPath: ProjectFiles.path(path)) else {
          Issue.record("\(document): there is no \(path)")
          continue
        }
        guard let anchor = match.2, path.hasSuffix(".md") else { continue }
        #expect(Self.anchors(try Self.text(path)).contains(String(anchor)), "\(document): \(path) has no #\(anchor)")
      }
    }
  }

  @Test func everyDocumentIsInTheIndex() throws {
    let index = try Self.text("docs/README.md")
    for document in try Self.documents where document.hasPrefix("docs/") && document != "docs/README.md" {
      #expect(index.contains("(\(document.dropFirst("docs/".count))"), "\(document)")
    }
  }

  @Test func troubleshootingQuotesMessagesOfTheCommands() throws {
    let rows = try Self.text("docs/troubleshooting.md").matches(of: /(?m)^\| `([^`]+)` \|/).map { String($0.1) }
    try #require(rows.count >= 8)
    let root = ProjectFiles.path("Sources")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    let sources = try names.filter { $0.hasSuffix(".swift") }.map {
      try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8)
    }
    for message in rows { #expect(sources.contains { $0.contains(message) }, "\(message)") }
  }
}
