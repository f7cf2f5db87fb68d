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
    let prefix = "\(folder.path)/opt/maps"
    // A folder that was there before any version, as /usr/local/bin is on Debian.
    try FileManager.default.createDirectory(atPath: "\(prefix)/bin", withIntermediateDirectories: true)
    // A file of an earlier version, which this one no longer has, and the folders which that version made.
    let (list, old) = ("\(prefix)/share/map-toolkit/installed", "\(prefix)/share/old/file")
    for path in [list, old] {
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data("share/\nshare/map-toolkit/\nshare/old/\nshare/old/file\n".utf8).write(to: URL(fileURLWithPath: path))
    }
    let installed = try script("/opt/maps")
    #expect(installed.status == 0, "\(installed)")
    #expect(!FileManager.default.fileExists(atPath: "\(prefix)/share/old"))
    for command in ["tilecut", "tileserve", "purchase-ledger", "mapstore"] {
      for file in [
        "bin/\(command)", "share/man/man1/\(command).1.gz", "share/bash-completion/completions/\(command)",
        "share/zsh/site-functions/_\(command)", "share/fish/vendor_completions.d/\(command).fish",
      ] {
        #expect(FileManager.default.fileExists(atPath: "\(prefix)/\(file)"), "\(file)")
      }
    }
    #expect(FileManager.default.fileExists(atPath: "\(prefix)/share/man/man1/tileserve-replay.1.gz"))
    let documents = "\(prefix)/share/doc/map-toolkit/docs"
    #expect(FileManager.default.fileExists(atPath: "\(documents)/reference/exit-codes.md"))
    #expect(!FileManager.default.fileExists(atPath: "\(documents)/history"))
    try manualPagesHaveTheirSections("\(prefix)/share/man/man1")
    try shellsCompleteWords("\(prefix)/share")
    try zshCompletesWords("\(prefix)/share")
    let version = try Command(path: "\(prefix)/bin/tilecut").run(["--version"])
    #expect(version.status == 0 && version.stdout.hasPrefix("0."), "\(version)")

    let removed = try script("--remove", "/opt/maps")
    #expect(removed.status == 0, "\(removed)")
    // The folders that were made are removed too, but not the prefix and what was in it.
    #expect(try FileManager.default.contentsOfDirectory(atPath: prefix) == ["bin"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(prefix)/bin") == [])
    #expect(try script("--remove", "/opt/maps").status == 1)
  }

  @Test func wrongUsageIsExplained() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("file", "")
    let binaries = URL(fileURLWithPath: try Command(built: "tilecut").path).deletingLastPathComponent().path
    func script(_ arguments: String...) throws -> CommandRun {
      try Command(path: ProjectFiles.path("scripts/install.sh")).run(
        arguments, in: folder.path, environment: ["BINARIES": binaries])
    }
    for arguments in [[], [""], ["--remove"], ["--prefix=/opt"], ["a", "b"]] {
      let run = try Command(path: ProjectFiles.path("scripts/install.sh")).run(arguments, in: folder.path)
      #expect(run.status == 64 && run.stderr.contains("usage: install.sh PREFIX"), "\(run)")
    }
    let help = try script("--help")
    #expect(help.status == 0 && help.stdout.hasPrefix("usage: install.sh PREFIX"), "\(help)")
    let refused = try script("\(file)/maps")
    #expect(refused.status == 1 && refused.stderr.contains("choose PREFIX=$HOME/.local"), "\(refused)")
    // From the folder of the caller, not the script's.
    let none = try script("--remove", "maps")
    #expect(none.status == 1 && none.stderr.contains("\(folder.path)/maps/share/map-toolkit/installed"), "\(none)")
  }

  private func manualPagesHaveTheirSections(_ folder: String) throws {
    func page(_ name: String) throws -> String {
      try #require(Command(installed: "gzip")).run(["-dc", "\(folder)/\(name).1.gz"]).stdout
    }
    let root = try page("tilecut")
    #expect(root.contains("\\fBtilecut\\fR [\\fIoptions\\fR] \\fIsubcommand\\fR ..."))
    #expect(root.contains(".SH EXIT STATUS\n.TP\n\\fB0\\fR\ndone\n"))
    #expect(root.contains("\\fB129, 130 or 143\\fR\nstopped by a signal\n") && !root.contains("Exit codes:"))
    #expect(root.contains("\\fBmapstore\\fR(1)"))
    let cut = try page("tilecut-cut")
    #expect(cut.contains("\n.nh\n.ad l\n") && cut.contains("\n.SH EXIT STATUS\nSee \\fBtilecut\\fR(1).\n"))
    #expect(cut.contains("\n.SS Tiles\n") && cut.contains("\n.SH EXAMPLES\n.EX\ntilecut cut "))
    #expect(try page("tileserve").contains("\\fBtileserve\\-replay\\fR(1)"))
    #expect(try page("tileserve-replay").contains(".SH SEE ALSO\n\\fBtileserve\\fR(1)\n"))
  }

  /// A command line, and what the shell makes of it: values behind `--option=`, which bash splits at `=`, the
  /// subcommands of `help`, and those of `tileserve replay`, which is no subcommand to the argument parser.
  private static let completions = [
    ("tileserve --por", "--port"), ("tileserve rep", "replay"), ("tileserve replay --synth", "--synthetic"),
    ("tileserve replay --device d", "desktop"), ("tileserve --missing=2", "204"),
    ("tileserve replay --tier=p", "palette"), ("tilecut merge --on-conflict=o", "overlay"),
    ("tilecut merge --on-conflict o", "overlay"), ("tilecut help me", "metadata"), ("mapstore help cl", "client"),
    ("purchase-ledger export --format=h", "hledger"), ("tilecut cut a.tif --format=w", "webp"),
  ]

  private func shellsCompleteWords(_ share: String) throws {
    for (line, expected) in Self.completions {
      let command = String(line.prefix { $0 != " " })
      let values = try complete(inBash: line, command, share)
      #expect(values.contains(expected), "\(line): \(values)")
      guard let fish = Command(installed: "fish") else { continue }
      let run = try fish.run([
        "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
        "\(share)/fish/vendor_completions.d/\(command).fish", line,
      ])
      #expect(run.status == 0 && run.stdout.contains(expected), "\(line): \(run)")
    }
    // A word that readline splits is one positional, and the subcommand replay is offered before a letter is typed.
    #expect(try complete(inBash: "tilecut places --near=1,2 \(share)/zs", "tilecut", share) == ["\(share)/zsh"])
    #expect(try complete(inBash: "tileserve ", "tileserve", share).contains("replay"))
  }

  /// What bash offers for the last word of a line, which is split as readline does.
  private func complete(inBash line: String, _ command: String, _ share: String) throws -> [String] {
    var words: [String] = []
    for word in line.split(separator: " ", omittingEmptySubsequences: false) {
      for (index, part) in word.split(separator: "=", omittingEmptySubsequences: false).enumerated() {
        if index > 0 { words.append("=") }
        if index == 0 || !part.isEmpty { words.append(String(part)) }
      }
    }
    let run = try Command(path: "/bin/bash").run(
      [
        "-c",
        """
        source "$1"; COMP_LINE=$2; shift 2
        COMP_POINT=${#COMP_LINE}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        word=${COMP_WORDS[COMP_CWORD]}
        "_$1" "$1" "${word#=}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
        """,
        "bash", "\(share)/bash-completion/completions/\(command)", line,
      ] + words)
    #expect(run.status == 0, "\(line): \(run)")
    return run.stdout.split(separator: "\n").map(String.init)
  }

  /// The shell runs in a terminal; what is not completed is waited for in vain.
  private func zshCompletesWords(_ share: String) throws {
    guard let zsh = Command(installed: "zsh") else { return }
    let script = """
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell "PS1=; fpath=(${(q)1} \\$fpath); autoload -U compinit; compinit -u -D; setopt no_beep no_list_beep"
      zpty -w shell "print ok\\$((1))"
      zpty -r shell output '*ok1*'
      zpty -w -n shell "$2"$'\\t'
      zpty -r shell output "*$3*"
      """
    for (line, expected) in Self.completions where !line.hasPrefix("tilecut help") {
      let ending = String(expected.dropFirst())
      let run = try zsh.run(
        ["-f", "-c", script, "zsh", "\(share)/zsh/site-functions", line, ending], environment: ["TERM": "dumb"])
      #expect(run.status == 0, "\(line): \(expected) is not offered")
    }
  }
}
