import Foundation
import TestSupport
import Testing

/// The programs in examples/, which are targets here and packages of their own.
@Suite(.ownThread) struct ExampleProgramTests {
  @Test func terminalViewerDrawsATile() throws {
    let folder = try TemporaryFolder()
    let map = folder.file("fault.mbtiles")
    let raster = ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")
    #expect(try Command(built: "tilecut").run(["cut", raster, "-o", map, "--zoom", "8-9"]).status == 0)
    let run = try Command(built: "TerminalViewer").run([map, "-84.25", "36.6", "9", "32"])
    let lines = run.stdoutLines
    #expect(run.status == 0 && lines.count == 17 && lines[0] == "9/136/199, 256 x 256 pixels", "\(run)")
    for line in lines.dropFirst() { #expect(line.count { $0 == "▀" } == 32) }
    #expect(Set(run.stdout.matches(of: /8;2;\d+;\d+;\d+m/).map(\.0)).count > 50, "a relief has many colours")
    let missing = try Command(built: "TerminalViewer").run([map, "100", "36.6", "9"])
    #expect(missing.stdout == "no tile there at zoom 9; the bundle has zooms [8, 9]\n", "\(missing)")
  }

  @Test func sessionViewerFliesIntoABundle() throws {
    let folder = try TemporaryFolder()
    let map = folder.file("fault.mbtiles")
    let raster = ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")
    #expect(try Command(built: "tilecut").run(["cut", raster, "-o", map, "--zoom", "8-9"]).status == 0)
    let run = try Command(built: "SessionViewer").run([map])
    // From zoom 8 to 9 in steps of a twentieth: 32 lines of 96 characters and one of figures each.
    let frames = run.stdout.components(separatedBy: "\u{1b}[H").dropFirst().map { $0.components(separatedBy: "\n") }
    #expect(run.status == 0 && frames.count >= 20 && frames.allSatisfy { $0.count >= 33 }, "\(run)")
    let last = try #require(frames.last)
    for line in last.prefix(32) { #expect(line.count { $0 == "▀" } == 96) }
    #expect(Set(last.prefix(32).joined().matches(of: /8;2;\d+;\d+;\d+m/).map(\.0)).count > 50, "a relief has colours")
    let kibibytes = try #require(last[32].firstMatch(of: /^zoom [89]\.?\d*, (\d+) KiB$/), "\(last[32])")
    #expect(try (1...32 << 10).contains(#require(Int(kibibytes.1))))
  }

  @Test func oneProcessServesTilesAndStore() throws {
    let folder = try TemporaryFolder()
    let manifest = ProjectFiles.path("sample-regions/jacksboro-fault/regions.json")
    let built = try Command(built: "tilecut").run(["build", manifest, "-o", folder.file("shelf"), "--progress", "none"])
    #expect(built.status == 0, "\(built)")
    let process = try Command(built: "OneProcess").start([folder.file("shelf"), folder.file("ledger.sqlite"), "0", "0"])
    let isServing = process.wait(timeout: 60) { process.stderr.contains("/catalogue\n") }
    #expect(isServing, "\(process.stderr)")
    let ports = process.stderr.matches(of: /: http:\/\/127\.0\.0\.1:(\d+)/).compactMap { Int($0.1) }
    try #require(ports.count == 2)
    let tilesets = try HTTPConnection(port: ports[0]).request("/tilesets.json")
    let regions = try HTTPConnection(port: ports[1]).request("/v1/catalogue")
    for answer in [tilesets, regions] {
      #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains("jacksboro"), "\(answer)")
    }
    process.send(SIGTERM)
    #expect(process.wait(timeout: 60).ending == .status(0), "\(process.stderr)")
  }

  /// Against a real server over loopback, with a fake app store that it trusts.
  @Test func shopClientBuysInstallsDeletesAndFetchesAgain() throws {
    let folder = try TemporaryFolder()
    let manifest = ProjectFiles.path("sample-regions/jacksboro-fault/regions.json")
    #expect(try Command(built: "tilecut").run(["build", manifest, "-o", folder.file("shelf")]).status == 0)
    let (ledger, keys) = (folder.file("ledger.sqlite"), folder.file("keys"))
    #expect(try Command(built: "purchase-ledger").run(["init", "--ledger", ledger]).status == 0)
    let made = try Command(built: "mapstore").run(["client", "store-key", keys, "--bundle-id", "org.example.maps"])
    #expect(made.status == 0, "\(made)")
    let server = try Command(built: "mapstore").start([
      "serve", "--catalogue", folder.file("shelf"), "--ledger", ledger, "--port", "0", "--bundle-id",
      "org.example.maps", "--root-certificate", "\(keys).root.der",
    ])
    #expect(server.wait(timeout: 60) { server.stdout.contains("/catalogue") || server.stderr.contains("/catalogue") })
    let told = server.stdout + server.stderr
    let url = try #require(told.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)?.0, "\(told)")
    let run = try Command(built: "ShopClient").run([String(url), folder.file("maps"), keys, "jacksboro-fault"])
    let lines = run.stdoutLines
    #expect(run.status == 0 && lines.first == "booked", "\(run)")
    #expect(lines.count { $0.hasPrefix("installed ") } == 2, "\(run)")
    #expect(lines.count { $0.hasPrefix("zooms [") && $0.hasSuffix("], usable: true") } == 2, "\(run)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("maps")) == [".mapstore"])
    server.send(SIGTERM)
    #expect(server.wait(timeout: 60).ending == .status(0), "\(server.stderr)")
  }

  /// What went wrong is a line, not a trap.
  @Test(arguments: [
    ("TerminalViewer", ["/none.mbtiles", "8", "47"], "/none.mbtiles"),
    ("SessionViewer", ["/none.mbtiles"], "none.mbtiles"),
    ("ShopClient", ["http://127.0.0.1:1", "maps", "/none", "alps"], "127.0.0.1:1"),
    ("OneProcess", ["/none", "ledger.sqlite"], "/none"),
  ])
  func exampleSaysWhatIsWrong(_ name: String, _ arguments: [String], _ named: String) throws {
    let folder = try TemporaryFolder()
    let run = try Command(built: name).run(arguments, in: folder.path)
    #expect(run.status == 1 && run.stdout.isEmpty && run.stderrLines.count == 1, "\(run)")
    #expect(run.stderr.contains(named) && !run.stderr.contains("Error("), "\(run)")
    #expect(!folder.names.contains("ledger.sqlite"), "nothing is made for a catalogue that is not there")
  }

  /// So much is enough for a viewer, a shop and a server.
  @Test(arguments: [
    "terminal-viewer/Sources", "map-session/Sources", "shop-client/Sources", "one-process/Sources", "apple",
  ])
  func noExampleIsLong(_ name: String) throws {
    let folder = ProjectFiles.path("examples/\(name)")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(!files.isEmpty)
    for file in files {
      let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 <= 40, "\(file)")
    }
  }

  /// What their own manifests name is a product of the package.
  @Test(arguments: ["terminal-viewer", "map-session", "shop-client", "one-process"]) func manifestNamesProducts(
    _ name: String
  ) throws {
    let package = try String(contentsOfFile: ProjectFiles.path("Package.swift"), encoding: .utf8)
    let products = try #require(package.firstMatch(of: /let libraryProducts = \[([^\]]*)\]/)).output.1
    let manifest = try String(contentsOfFile: ProjectFiles.path("examples/\(name)/Package.swift"), encoding: .utf8)
    let named = manifest.matches(of: /\.product\(name: "(\w+)", package: "map-toolkit"\)/).map { String($0.1) }
    try #require(!named.isEmpty)
    for product in named { #expect(products.contains("\"\(product)\""), "\(name): \(product)") }
  }
}
