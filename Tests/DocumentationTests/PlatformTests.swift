import Foundation
import TestSupport
import Testing

/// docs/start/platforms.md names every file that does something else on Apple's platforms.
@Suite struct PlatformTests {
  @Test func everyBranchForApplesPlatformsIsListed() throws {
    let document = try String(contentsOfFile: ProjectFiles.path("docs/start/platforms.md"), encoding: .utf8)
    let listed = Set(document.matches(of: /`(Sources\/[^`]+)`/).map { String($0.1) })
    let root = ProjectFiles.path("Sources")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    var branching: Set<String> = []
    for name in names where [".swift", ".c", ".h"].contains(where: name.hasSuffix) {
      let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
      if Self.hasBranch(text) { branching.insert("Sources/\(name)") }
    }
    #expect(branching == listed, "\(branching.symmetricDifference(listed).sorted())")
  }

  /// All of Foundation brings 34 MB of locale data into every command that links it; FoundationEssentials does not.
  @Test func noSourceImportsAllOfFoundationOnLinux() throws {
    let root = ProjectFiles.path("Sources")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    for name in names where name.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
      // Imports under a condition are indented.
      #expect(text.firstMatch(of: /(?m)^([a-z]+ )?import Foundation$/) == nil, "Sources/\(name)")
    }
  }

  @Test func oneFileImportsTheSystemsLibraryOfC() throws {
    var importing: [String] = []
    for folder in ["Sources", "Tests", "Benchmarks", "Fuzz", "examples"] {
      let root = ProjectFiles.path(folder)
      let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
      for name in names where name.hasSuffix(".swift") {
        let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
        if text.contains(/(?m)^ *(@[a-z_]+ )?([a-z]+ )?import (Glibc|Darwin|Musl)$/) {
          importing.append("\(folder)/\(name)")
        }
      }
    }
    #expect(importing == ["Sources/LibC/LibC.swift"])
  }

  /// The C library takes a `String` for its UTF-8, and then finds no file whose name is none (`SystemPath`): every call
  /// with a path has one of ours in LibC.
  @Test func callsThatTakePathsHaveTheirOwnInLibC() throws {
    let own = try String(contentsOfFile: ProjectFiles.path("Sources/LibC/PathCalls.swift"), encoding: .utf8)
    let taking = [
      "open", "stat", "lstat", "statvfs", "access", "truncate", "unlink", "rmdir", "mkdir", "chdir", "rename", "link",
      "readlink", "realpath", "opendir", "fopen", "freopen", "creat", "openat", "fstatat", "unlinkat", "renameat",
      "mkdirat", "symlink", "chmod", "chown", "lchown", "utimes", "utimensat", "mkfifo", "mknod", "statfs", "pathconf",
      "execv", "execve", "dlopen", "ftw", "nftw", "scandir", "getxattr", "setxattr",
    ]
    let missing = taking.filter { !own.contains("func \($0)(_ path: String") }
    // A name of a library is no path of ours.
    let forbidden = try Regex(#"(?:^|[^.\w`])(?:\#(missing.filter { $0 != "dlopen" }.joined(separator: "|")))\("#)
    let root = ProjectFiles.path("Sources")
    let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
    for name in names where name.hasSuffix(".swift") {
      for line in try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8).split(separator: "\n") {
        guard !line.contains("func "), !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
        #expect(line.firstMatch(of: forbidden) == nil, "Sources/\(name): \(line)")
        #expect(!line.contains("d_name") || !line.contains("String(cString"), "Sources/\(name): \(line)")
      }
    }
    #expect(missing.count == 26, "\(missing)")
  }

  /// Whether a condition on the platform encloses more than imports.
  private static func hasBranch(_ text: String) -> Bool {
    let conditions = ["canImport(Darwin)", "canImport(CryptoKit)", "os(Linux)", "os(macOS)", "__APPLE__"]
    var depth = 0
    for line in text.split(separator: "\n") {
      let line = line.drop { $0 == " " }
      if line.hasPrefix("#if") {
        depth = depth > 0 || conditions.contains(where: line.contains) ? depth + 1 : 0
      } else if line.hasPrefix("#endif") {
        depth = max(depth - 1, 0)
      } else if depth > 0, !line.hasPrefix("#"), !line.contains("import "), !line.hasPrefix("//") {
        return true
      }
    }
    return false
  }
}
