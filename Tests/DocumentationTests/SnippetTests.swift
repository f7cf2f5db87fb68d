import Foundation
import TestSupport
import Testing

/// The code of each DocC article is that of the example which is compiled here.
@Suite struct SnippetTests {
  static let libraries = [
    "TileIndex", "RegionCatalog", "Gazetteer", "OfflineMap", "TilePrefetch", "MapStoreClient",
    "PurchaseVerification", "PurchaseLedger", "TileServe",
  ]

  @Test(arguments: libraries) func articleHasTheCompiledExample(_ library: String) throws {
    let source = try text("Tests/DocumentationTests/\(library)Example.swift")
    let article = try text("Sources/\(library)/\(library).docc/GettingStarted.md")
    let example = try #require(lines(of: source, from: "// snippet.begin", to: "// snippet.end"))
    let block = try #require(lines(of: article, from: "```swift", to: "```"))
    #expect(withoutIndentation(block) == withoutIndentation(example))
  }

  /// The code of a page has the imports of the file that compiles it.
  @Test(arguments: ["docs/reference/device.md", "docs/explanation/prefetch.md"])
  func pageHasTheCompiledExample(_ path: String) throws {
    let source = try text("Tests/DocumentationTests/PageExamples.swift")
    let name = try #require(path.split(separator: "/").last)
    let example = try #require(lines(of: source, from: "// \(name) begins", to: "// \(name) ends"))
    let page = try text(path)
    let block = try #require(lines(of: page, from: "```swift", to: "```"))
    let isCode: (String) -> Bool = { !$0.hasPrefix("import ") }
    #expect(Array(withoutIndentation(block).filter(isCode).drop(while: \.isEmpty)) == withoutIndentation(example))
    for line in block where !isCode(line) { #expect(source.contains("\(line)\n"), "\(line)") }
    #expect(page.components(separatedBy: "```swift").count == 2, "only the first block is compared")
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: ProjectFiles.path(path), encoding: .utf8)
  }

  /// The lines between the first line that is `begin` and the next that is `end`, both without indentation.
  private func lines(of text: String, from begin: String, to end: String) -> [String]? {
    let lines = text.components(separatedBy: "\n")
    func trimmed(_ line: String) -> String { line.trimmingCharacters(in: .whitespaces) }
    guard let first = lines.firstIndex(where: { trimmed($0) == begin }) else { return nil }
    let rest = lines[(first + 1)...]
    guard let last = rest.firstIndex(where: { trimmed($0) == end }) else { return nil }
    return Array(rest[..<last])
  }

  /// The lines without the indentation that all of them share.
  private func withoutIndentation(_ lines: [String]) -> [String] {
    let widths = lines.filter { !$0.isEmpty }.map { line in line.prefix { $0 == " " }.count }
    let width = widths.min() ?? 0
    return lines.map { String($0.dropFirst(width)) }
  }
}
