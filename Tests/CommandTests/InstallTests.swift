import Foundation
import TestSupport
import Testing

/// `make install` and `make uninstall`, with the tests' debug build.
@Suite(.ownThread, .long) struct InstallTests {
  @Test(.enabled(if: Command(installed: "python3") != nil, "make install writes manual pages with python3"))
  func everythingInstalledIsRemovedAgain() throws {
    let folder = try TemporaryFolder()
    let binaries = URL(fileURLWithPath: try Command(built: "tilecut").path).deletingLastPathComponent().path
    func script(_ arguments: String...) throws -> CommandRun {
      try Command(path: ProjectFiles.path("scripts/install.sh")).run(
        arguments, environment: ["BINARIES": binaries, "DESTDIR": folder.path], timeout: 300)
    }
    let installed = try script("/opt/maps")
    #expect(installed.status == 0, "\(installed)")
    let prefix = "\(folder.path)/opt/maps"
    for command in ["tilecut", "tileserve", "purchase-ledger", "mapstore"] {
      for file in [
        "bin/\(command)", "share/man/man1/\(command).1.gz", "share/bash-completion/completions/\(command)",
        "share/zsh/site-functions/_\(command)", "share/fish/vendor_completions.d/\(command).fish",
      ] {
        #expect(FileManager.default.fileExists(atPath: "\(prefix)/\(file)"), "\(file)")
      }
    }
    #expect(FileManager.default.fileExists(atPath: "\(prefix)/share/man/man1/tileserve-replay.1.gz"))
    let version = try Command(path: "\(prefix)/bin/tilecut").run(["--version"])
    #expect(version.status == 0 && version.stdout.hasPrefix("0."), "\(version)")

    let removed = try script("--remove", "/opt/maps")
    #expect(removed.status == 0, "\(removed)")
    let left = FileManager.default.enumerator(atPath: prefix)?.compactMap { name -> String? in
      var isFolder: ObjCBool = false
      let path = "\(prefix)/\(name)"
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue ? path : nil
    }
    #expect(left == [])
    #expect(try script("--remove", "/opt/maps").status == 1)
  }
}
