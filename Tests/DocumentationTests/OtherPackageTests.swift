import Foundation
import TestSupport
import Testing

/// What is public suffices for another package. The examples are targets of this package when they are built for the
/// tests, and see what is `package`, too; the compiler does not show it without the package's name.
@Suite(.ownThread) struct OtherPackageTests {
  /// They show parts of this package that are no product's.
  private static let exempt = ["DocCommentExamples.swift", "TilePrefetchExample.swift"]

  @Test func examplesNeedOnlyWhatIsPublic() throws {
    let tests = ProjectFiles.path("Tests/DocumentationTests")
    let names = try FileManager.default.contentsOfDirectory(atPath: tests).filter {
      $0.contains(/Examples?\.swift$|Tutorial\.swift$/) && !Self.exempt.contains($0)
    }
    #expect(names.count >= 11)
    let examples = ["terminal-viewer", "map-session", "one-process", "shop-client"].map { example in
      let folder = ProjectFiles.path("examples/\(example)/Sources")
      return (try? FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }) ?? []
    }
    for sources in [names.map { "\(tests)/\($0)" }] + examples {
      try #require(!sources.isEmpty)
      let arguments = ["swiftc", "-typecheck", "-module-name", "Other"] + (try Self.flags) + sources
      let result = try #require(try run("env", arguments))
      #expect(result.status == 0, "\(result.output)")
    }
  }

  /// Each line is a promise. Who adds one takes another back.
  @Test func publicLinesAreFew() throws {
    var count = 0
    let folder = ProjectFiles.path("Sources")
    for case let name as String in try #require(FileManager.default.enumerator(atPath: folder))
    where name.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      count += text.split(separator: "\n").count { $0.contains(#/\bpublic /#) && !$0.contains(#/^ *\/\//#) }
    }
    #expect(count > 1000 && count <= 1600)
  }

  /// The modules of this build, with the C modules that they were compiled with.
  private static var flags: [String] {
    get throws {
      let files = FileManager.default
      let build = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
      let checkouts = ProjectFiles.path(".build/checkouts")
      var flags = [
        "-swift-version", "6", "-parse-as-library", "-enable-upcoming-feature", "MemberImportVisibility", "-I",
        "\(build)/Modules",
      ]
      func add(_ option: String) { flags += ["-Xcc", option] }
      func folders(in folder: String) throws -> [String] {
        try files.contentsOfDirectory(atPath: folder).sorted().map { "\(folder)/\($0)" }
      }
      for target in try folders(in: ProjectFiles.path("Sources")) + folders(in: build) {
        let map = "\(target)/module.modulemap"
        if files.fileExists(atPath: map) { add("-fmodule-map-file=\(map)") }
      }
      let targets =
        try folders(in: ProjectFiles.path("Sources"))
        + folders(in: checkouts).flatMap { (try? folders(in: "\($0)/Sources")) ?? [] }
      for include in targets.map({ "\($0)/include" }) where files.fileExists(atPath: include) {
        add("-I\(include)")
        let map = "\(include)/module.modulemap"
        if include.hasPrefix(checkouts), files.fileExists(atPath: map) { add("-fmodule-map-file=\(map)") }
      }
      return flags
    }
  }
}
