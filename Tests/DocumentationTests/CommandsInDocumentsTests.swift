import Foundation
import TestSupport
import Testing

/// Every command and transcript of README, tutorials and how-tos runs in the order in which it stands, as its reader
/// types it: one shell for each document, in a folder that has sample-regions and the rasters that its text assumes.
@Suite(.ownThread) struct CommandsInDocumentsTests {
  struct Document: Sendable, CustomTestStringConvertible {
    let path: String
    /// Files of the reader's own that the text names, and the samples that stand for them.
    var files: [String: String] = [:]
    var testDescription: String { path }
  }

  /// Documents with commands, except the reference, whose examples do not belong together.
  static let documents: [Document] = [
    Document(path: "README.md"),
    Document(path: "docs/start/first-map.md"),
    Document(path: "docs/start/install.md"),
    Document(path: "docs/tutorials/sell-your-first-map.md"),
    Document(path: "docs/tutorials/field-laptop.md"),
    Document(path: "docs/how-to/clients.md"),
    Document(path: "docs/how-to/nginx.md"),
    Document(path: "docs/how-to/patches.md"),
    Document(path: "docs/how-to/backup.md"),
    Document(path: "docs/how-to/reconcile.md"),
    Document(path: "docs/how-to/support.md"),
    Document(path: "docs/how-to/app-review.md"),
    Document(path: "docs/how-to/replace.md", files: ["usa.tif": "continental-us/us-shadedrelief.tif"]),
    Document(path: "docs/how-to/scale.md", files: ["usa.tif": "continental-us/us-shadedrelief.tif"]),
  ]

  /// Commands that change the machine, build, or need another one.
  private static let notRun = [
    "make ", "apt-get ", "docker ", "scripts/", "systemctl ", "sudo ", "git clone", "cd map-toolkit", "nginx ",
    "export PATH=",
  ]

  /// GDAL is one of the clients, and may be missing.
  private static let missing = Command(installed: "gdalinfo") == nil ? ["gdalinfo ", "gdal_translate "] : []

  @Test func everyDocumentWithCommandsIsRun() throws {
    for folder in ["docs/start", "docs/tutorials", "docs/how-to"] {
      for name in try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.path(folder)) {
        let path = "\(folder)/\(name)"
        #expect(try ShellDocument(path).steps.isEmpty || Self.documents.contains { $0.path == path }, "\(path)")
      }
    }
  }

  @Test(.enabled(if: Command(installed: "bash") != nil, "bash is not installed"), arguments: documents)
  func commandsRunInTheirOrder(_ document: Document) throws {
    let folder = try TemporaryFolder()
    let samples = ProjectFiles.path("sample-regions")
    try FileManager.default.createSymbolicLink(atPath: folder.file("sample-regions"), withDestinationPath: samples)
    for (name, sample) in document.files {
      try FileManager.default.copyItem(atPath: "\(samples)/\(sample)", toPath: folder.file(name))
    }
    // Tests run side by side: the documents' ports are exchanged for others, below those that the system chooses.
    let port = 2 * Int.random(in: 10_000..<15_000)
    let ports = [("8080", port), ("8090", port + 1)]
    func local(_ text: String) -> String {
      ports.reduce(text) { $0.replacing("127.0.0.1:\($1.0)", with: "127.0.0.1:\($1.1)") }
    }
    let steps = try ShellDocument(document.path).steps
    try #require(!steps.isEmpty)
    try folder.write("story.sh", Self.script(steps, ports: ports.map(\.1), local))
    let bash = try #require(Command(installed: "bash"))
    let run = try bash.run(
      [folder.file("story.sh")], in: folder.path,
      environment: ["PATH": try Self.searchPath(), "TMPDIR": folder.path], timeout: 300)
    let last = run.stdoutLines.last.flatMap { Int($0) } ?? 0
    func output(_ step: Int) -> String {
      (try? String(contentsOfFile: folder.file(".step\(step)"), encoding: .utf8)) ?? ""
    }
    #expect(
      run.status == 0, "\(document.path), line \(steps[last].line): \(output(last))\n\(run.stderr)")
    guard run.status == 0 else { return }
    for (index, step) in steps.enumerated() {
      guard let expected = step.output else { continue }
      let lines = output(index).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      let printed = lines.last == "" ? lines.dropLast() : lines[...]
      let isSame = ShellDocument.output(Array(printed), matches: expected.map(local))
      #expect(isSame, "\(document.path), line \(step.line): \(step.command)\(output(index))")
    }
  }

  /// The folder of the built commands, and that of the tests' own search path.
  private static func searchPath() throws -> String {
    let names = ["tilecut", "tileserve", "purchase-ledger", "mapstore"]
    let folders = try names.map { URL(fileURLWithPath: try Command(built: $0).path).deletingLastPathComponent().path }
    return (folders + [ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]).joined(separator: ":")
  }

  /// One script: the output of each step goes into a file, its number to standard output. A server is started in the
  /// background, on a port of ours, as the reader starts it in another terminal, and ends the one before it.
  private static func script(_ steps: [ShellDocument.Step], ports: [Int], _ local: (String) -> String) -> String {
    var lines = [
      "set -eo pipefail", "exec 3>&1", "declare -A servers",
      """
      serve() {
        local port=$1; shift
        if [ -n "${servers[$port]:-}" ]; then
          kill "${servers[$port]}"
          wait "${servers[$port]}" || { echo "the server before ended with $?"; return 1; }
        fi
        "$@" --port "$port" &
        servers[$port]=$!
        for _ in $(seq 600); do
          (exec 4<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return 0
          kill -0 "${servers[$port]}" 2>/dev/null || { echo "the server ended at once"; return 1; }
          sleep 0.05
        done
        return 1
      }
      trap 'for server in "${servers[@]}"; do kill "$server" 2>/dev/null; done; wait' EXIT
      """,
    ]
    for (index, step) in steps.enumerated() {
      let commands = local(step.command).split(separator: "\n", omittingEmptySubsequences: false).compactMap { line in
        if (notRun + missing).contains(where: line.hasPrefix) { return nil as String? }
        if line.hasPrefix("tileserve ") && !line.hasPrefix("tileserve replay") { return "serve \(ports[0]) \(line)" }
        if line.hasPrefix("mapstore serve ") { return "serve \(ports[1]) \(line)" }
        return String(line)
      }
      lines += ["echo \(index) >&3", "exec >\"$TMPDIR/.step\(index)\" 2>&1"]
      lines += commands
    }
    return lines.joined(separator: "\n") + "\nexit 0\n"
  }
}
