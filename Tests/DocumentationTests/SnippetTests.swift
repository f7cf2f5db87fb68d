import Foundation
import TestSupport
import Testing

/// The code in documents and comments is that of examples which are compiled here.
@Suite struct SnippetTests {
  static let libraries = [
    "TileIndex", "RegionCatalog", "OfflineMap", "TilePrefetch", "MapStoreClient",
    "PurchaseVerification", "PurchaseLedger", "TileServe",
  ]

  @Test(
    arguments: libraries.map { ($0, "\($0)/\($0).docc/GettingStarted.md") } + [
      ("PlaceSearch", "TileIndex/TileIndex.docc/PlaceSearch.md")
    ])
  func articleHasTheCompiledExample(_ name: String, _ path: String) throws {
    let source = try text("Tests/DocumentationTests/\(name)Example.swift")
    let article = try text("Sources/\(path)")
    let example = try #require(lines(of: source, from: "// snippet.begin", to: "// snippet.end"))
    let block = try #require(lines(of: article, from: "```swift", to: "```"))
    #expect(withoutIndentation(block) == withoutIndentation(example))
    #expect(block.filter(isImport) == source.components(separatedBy: "\n").filter(isImport))
  }

  /// Each step of the tutorial shows the compiled source up to the step's marker.
  @Test func tutorialHasTheCompiledExample() throws {
    let catalogue = "Sources/OfflineMap/OfflineMap.docc"
    let source = try text("Tests/DocumentationTests/OfflineMapTutorial.swift")
    let tutorial = try text("\(catalogue)/Tutorials/ShowAMap.tutorial")
    let shown = tutorial.matches(of: /@Code\(name: "[^"]+", file: "([^"]+)"\)/).map { String($0.1) }
    try #require(shown.count == 3)
    for (index, file) in shown.enumerated() {
      let piece = try #require(lines(of: source, from: "// tutorial.begin", to: "// tutorial.\(index + 1)"))
      let code = piece.filter { !$0.hasPrefix("// tutorial.") }
      #expect(try text("\(catalogue)/Resources/\(file)") == code.joined(separator: "\n") + "\n", "\(file)")
    }
  }

  /// The code of a page has exactly the imports with which it is compiled.
  @Test(arguments: [("docs/reference/device.md", "DevicePage"), ("docs/explanation/prefetch.md", "PrefetchPage")])
  func pageHasTheCompiledExample(_ path: String, _ name: String) throws {
    let source = try text("Tests/DocumentationTests/\(name)Example.swift")
    let example = try #require(lines(of: source, from: "// page.begin", to: "// page.end"))
    let page = try text(path)
    let block = try #require(lines(of: page, from: "```swift", to: "```"))
    let code = withoutIndentation(block).filter { !isImport($0) }
    #expect(Array(code.drop(while: \.isEmpty)) == withoutIndentation(example))
    #expect(block.filter(isImport) == source.components(separatedBy: "\n").filter(isImport))
    #expect(page.components(separatedBy: "```swift").count == 2, "only the first block is compared")
  }

  /// Documents and comments whose code cannot be compiled here.
  private static let exempt = [
    "docs/tutorials/embed.md:// Pa": "a line of another package's manifest",
    "docs/tutorials/embed.md:// sw": "another package's manifest",
    "docs/start/platforms.md": "lines of another package's manifest",
    "Sources/MapStoreClient/Apple/BackgroundTransport.swift": "Foundation of Linux has no background sessions",
    "Sources/MapStoreClient/Regions/OfflineRegionManager+State.swift:List(": "SwiftUI",
  ]

  /// Every block of Swift in a document or in the comment of a declaration is a piece of some source of the tests.
  @Test func everyBlockIsCompiled() throws {
    let tests = try files(in: "Tests", ".swift").map { code(try text($0).components(separatedBy: "\n")) }
    let documents =
      ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "examples/README.md"]
      + (try files(in: "docs", ".md") + files(in: "Sources", ".md") + files(in: "Sources", ".swift"))
    var exempt: Set<String> = []
    var count = 0
    for path in documents {
      let lines = try text(path).components(separatedBy: "\n").map { line in
        path.hasSuffix(".swift") ? String(line.trimmingPrefix(#/ *\/\/\/ ?/#)) : line
      }
      for block in blocks(in: lines) {
        count += 1
        if let known = Self.exempt.keys.first(where: { $0 == path || $0 == "\(path):\(block[0].prefix(5))" }) {
          exempt.insert(known)
          continue
        }
        let wanted = "\n" + code(block) + "\n"
        #expect(tests.contains { "\n\($0)\n".contains(wanted) }, "\(path):\n\(block.joined(separator: "\n"))")
      }
    }
    #expect(count >= 25 && exempt == Set(Self.exempt.keys), "\(count), \(exempt)")
  }

  private func blocks(in lines: [String]) -> [[String]] {
    var blocks: [[String]] = []
    var rest = lines[...]
    while let first = rest.firstIndex(where: { $0.trimmingCharacters(in: .whitespaces) == "```swift" }) {
      rest = rest[(first + 1)...]
      guard let last = rest.firstIndex(where: { $0.trimmingCharacters(in: .whitespaces) == "```" }) else { break }
      blocks.append(Array(rest[..<last]))
      rest = rest[(last + 1)...]
    }
    return blocks
  }

  /// Lines without indentation, imports and empty lines.
  private func code(_ lines: [String]) -> String {
    let trimmed = lines.map { $0.trimmingCharacters(in: .whitespaces) }
    return trimmed.filter { !$0.isEmpty && !isImport($0) }.joined(separator: "\n")
  }

  private func isImport(_ line: String) -> Bool { line.hasPrefix("import ") }

  private func files(in folder: String, _ suffix: String) throws -> [String] {
    let names = try #require(FileManager.default.enumerator(atPath: ProjectFiles.path(folder)))
    return names.compactMap { $0 as? String }.filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
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
