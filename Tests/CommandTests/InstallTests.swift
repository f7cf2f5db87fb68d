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
    try completionsOfReplayFollowThoseOfTileserve("\(prefix)/share")
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

  /// `tileserve replay` is no subcommand to the argument parser, which writes the completions.
  private func completionsOfReplayFollowThoseOfTileserve(_ share: String) throws {
    let trials = [
      ("tileserve --por", "--port"), ("tileserve rep", "replay"), ("tileserve replay --synth", "--synthetic"),
      ("tileserve replay --device d", "desktop"),
    ]
    for (line, expected) in trials {
      let words = line.split(separator: " ").map(String.init)
      let bash = try Command(path: "/bin/bash").run(
        [
          "-c",
          """
          source "$1"; shift
          COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
          _tileserve tileserve "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
          printf '%s\\n' "${COMPREPLY[@]}"
          """,
          "bash", "\(share)/bash-completion/completions/tileserve",
        ] + words)
      #expect(bash.status == 0 && bash.stdout.split(separator: "\n").contains(Substring(expected)), "\(line): \(bash)")
      guard let fish = Command(installed: "fish") else { continue }
      let run = try fish.run([
        "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
        "\(share)/fish/vendor_completions.d/tileserve.fish", line,
      ])
      #expect(run.status == 0 && run.stdout.contains(expected), "\(line): \(run)")
    }
  }
}
