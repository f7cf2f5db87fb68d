import Foundation
import TestSupport
import Testing

/// The public interface of the libraries that an app embeds, from the modules of this build.
@Suite(.ownThread) struct PublicSymbolTests {
  @Test func everyPublicSymbolHasAComment() throws {
    let script = "SKIP_BUILD=1 \(ProjectFiles.path("scripts/docs.sh")) --check"
    let result = try #require(try run("sh", ["-c", script]))
    #expect(result.status == 0, "\(result.output)")
  }

  /// What is documented, what is compared with the last release, and what the package index shows.
  @Test func theListsOfLibrariesAgree() throws {
    func names(in path: String, _ list: Regex<(Substring, Substring)>) throws -> [String] {
      let text = try String(contentsOfFile: ProjectFiles.path(path), encoding: .utf8)
      return try #require(text.firstMatch(of: list), "\(path)").1.matches(of: /\w+/).map { String($0.0) }.sorted()
    }
    let documented = try names(in: "scripts/docs.sh", /(?m)^libraries="([^"]+)"/)
    #expect(documented.count >= 12 && Set(documented).count == documented.count)
    #expect(try names(in: "scripts/api-diff.sh", /(?m)^libraries="([^"]+)"/) == documented)
    #expect(try names(in: ".spi.yml", /documentation_targets: \[([^\]]+)\]/) == documented)
  }

  /// A function that is gone has to be named in the changelog, with its parameters or without.
  @Test func aBreakingChangeMustBeNamed() throws {
    let folder = try TemporaryFolder()
    func graph(_ functions: [String]) -> String {
      let symbols = functions.map { name in
        """
        {"identifier":{"precise":"s:\(name)"},"location":{},"pathComponents":["Map","\(name)(at:)"],\
        "declarationFragments":[{"spelling":"func \(name)(at: Int)"}]}
        """
      }
      return "{\"symbols\":[\(symbols.joined(separator: ","))],\"relationships\":[]}"
    }
    for name in ["old", "new"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    _ = try folder.write("old/A.symbols.json", graph(["draw", "erase"]))
    _ = try folder.write("new/A.symbols.json", graph(["draw", "paint"]))
    for (change, status) in [("- `erase` is gone", Int32(0)), ("- `erased` is new", 1)] {
      let log = try folder.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n\(change)\n\n## 0.1.0\n\n- erase\n")
      let paths = [folder.file("old"), folder.file("new"), log, "A"]
      let result = try #require(try run("python3", [ProjectFiles.path("scripts/api-diff.py")] + paths))
      #expect(result.status == status && result.output.contains("A: 1 added, 1 removed"), "\(result)")
    }
  }
}
