import Foundation
import TestSupport
import Testing

/// A process that reaches its limit of open files reports that, not broken bundles or missing permissions.
@Suite(.ownThread) struct DescriptorShortageTests {
  /// Runs `tileserve` with a limit of open files that it cannot raise.
  private func start(limit: Int, _ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
    let line = "ulimit -n \(limit) && exec \"$0\" \"$@\""
    return try Command(path: "/bin/sh").start(
      ["-c", line, try Command(built: "tileserve").path, "--port", "0", "--threads", "1"] + arguments,
      environment: RunningServer.environment.merging(environment) { $1 })
  }

  @Test func descriptorShortageIsReportedAsSuch() throws {
    let folder = try TemporaryFolder()
    for number in 0..<40 { try folder.writeBundle("map-\(number).mbtiles", zooms: 0...0, edge: 64) }
    let process = try start(limit: 48, [folder.path], environment: ["TILESERVE_CONNECTIONS": "8"])
    let hasBegun = process.wait(timeout: 60) { process.stdout.contains("viewer: ") && process.stdout.hasSuffix("\n") }
    let port = try #require(
      hasBegun ? process.stdout.firstMatch(of: /:(\d+)\//).flatMap { Int($0.output.1) } : nil, "\(process.stderr)")
    // Each bundle that was requested keeps a file open.
    let connection = try HTTPConnection(port: port)
    let answers = try (0..<40).map { try connection.request("/map-\($0)/0/0/0.png") }
    // Which bundles are open depends on how far the background check of all bundles is.
    #expect(answers.contains { $0.status == 200 })
    let refused = answers.filter { $0.status != 200 }
    #expect(!refused.isEmpty)
    for answer in refused {
      #expect(answer.status == 503 && answer["Retry-After"] != nil, "\(answer)")
      #expect(
        answer.text.contains("too many open files") && answer.text.contains("allow the process more"), "\(answer)")
      #expect(!answer.text.contains(folder.path), "\(answer)")
    }
    #expect(process.wait { process.stderr.contains("\n") })
    // Reading the folder takes a descriptor, and so does a client.
    let waiting = try? HTTPConnection(port: port)
    #expect(process.wait { process.stderr.contains("cannot be listed: too many open files; ") }, "\(process.stderr)")
    withExtendedLifetime(waiting) {}
    let lines = process.stderr.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("tileserve: error: ") && $0.contains("48 are allowed") }, "\(lines)")
    for line in lines {
      #expect(line.contains("too many open files") && line.contains("allow the process more"), "\(line)")
    }
    #expect(lines.count < 10, "\(lines)")
    process.send(SIGTERM)
    let run = process.wait(timeout: 60)
    #expect(run.status == 0, "\(run)")
  }

  @Test func descriptorLimitThatIsTooLowIsRefused() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("map.mbtiles", zooms: 0...0, edge: 64)
    let run = try start(limit: 16, [folder.path]).wait(timeout: 60)
    #expect(run.status == 69 && run.stdout.isEmpty, "\(run)")
    #expect(run.stderr.contains("only 16 files") && run.stderr.contains("allow the process more"), "\(run)")
  }
}
