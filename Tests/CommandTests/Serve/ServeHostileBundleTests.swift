import Foundation
import Support
import TestSupport
import Testing

/// The built `tileserve` with bundles whose tiles have no end, or no bound.
@Suite(.ownThread) struct ServeHostileBundleTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Of queries that may go on for more than a minute, some of which wait for a thread.
  private func ask(_ server: RunningServer) throws -> [HTTPConnection] {
    let connections = try (0..<6).map { number in
      let connection = try server.connect()
      try connection.send(HTTPConnection.head("/v/4/\(number)/0.png"))
      return connection
    }
    // The requests arrive before the signal: the same event loops answer these.
    for _ in 0..<20 { #expect(try server.get("/health").status == 200) }
    return connections
  }

  @Test func endlessQueriesDoNotDelayTheEnd() throws {
    try folder.writeEndlessView("v.mbtiles", megabytes: 256)
    let server = try RunningServer([folder.path], environment: ["TILESERVE_DRAIN_DELAY": "0"])
    let connections = try ask(server)
    server.process.send(SIGTERM)
    let run = server.process.wait(timeout: 30)
    #expect(run.status == 0, "\(run)")
    for connection in connections { #expect(try connection.response().status == 503) }
  }

  /// They are answered long before the port is closed.
  @Test func endlessQueriesAreInterruptedByTheSignal() throws {
    try folder.writeEndlessView("v.mbtiles", megabytes: 256)
    let server = try RunningServer([folder.path], environment: ["TILESERVE_DRAIN_DELAY": "3600"])
    let connections = try ask(server)
    let start = ContinuousClock.now
    server.process.send(SIGTERM)
    for connection in connections {
      let response = try connection.response()
      #expect(response.status == 503 && response.closes && response["Retry-After"] != nil, "\(response)")
    }
    #expect(ContinuousClock.now - start < .seconds(30), "the queries ended by themselves")
    #expect(try server.get("/health").status == 200)
  }

  /// A bundle of some kilobytes whose one tile would take 900 MB.
  @Test func aTileWithoutABoundIsRefused() throws {
    try folder.writeHugeTile("z.mbtiles")
    try folder.writeBundle("good.mbtiles", zooms: 0...0)
    let server = try RunningServer([folder.path])
    for target in ["/z/0/0/0.png", "/z/0/0/0@2x.png", "/z,good/0/0/0.png", "/z.json"] {
      let response = try server.get(target)
      #expect((500...503).contains(response.status), "\(target): \(response)")
    }
    #expect(try server.get("/good/0/0/0.png").status == 200)
    // Reads the process's figures.
    _ = server.process.wait(timeout: 0.1) { false }
    #expect((1..<400_000_000).contains(server.process.peakBytes), "\(server.process.peakBytes)")
  }
}
