import TestSupport
import Testing

@testable import TileServe

/// Shutting down: requests in progress are answered, new ones are not accepted.
@Suite(.ownThread) struct DrainTests {
  @Test func requestsInProgressAreAnswered() async throws {
    let port = try Socket.unsharedPort()
    try await serving([SampleTilesets.path]) {
      $0.limits.drainSeconds = 30
      $0.port = port
    } _: { (served) async throws in
      let gate = Gate()
      defer { gate.open() }
      let lane = try #require(served.registry["photo"]).lane
      for _ in 0..<WorkPool.laneWidth { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      let idle = try served.connect()
      #expect(try idle.request("/health").status == 200)
      let fresh = try served.connect()
      let busy = try served.connect()
      try busy.send(HTTPConnection.head("/health") + HTTPConnection.head("/photo/0/0/0.jpg"))
      #expect(try busy.response().text == "ok\n")
      let server = served.server
      let end = Task { try await server.shutdown() }
      // Idle connections are closed, and the listener too.
      let pair = Unshared((idle, fresh))
      #expect(try await onThread { pair.value.0.isAtEnd() && pair.value.1.isAtEnd() })
      #expect(try await onThread { eventually { (try? Socket(port: port)) == nil } })
      gate.open()
      let late = Unshared(busy)
      let response = try await onThread { try late.value.response() }
      #expect(response.status == 200 && response["Content-Type"] == "image/jpeg")
      #expect(try await onThread { late.value.isAtEnd() })
      try await end.value
    }
  }

  /// A response that the client has not read yet is not truncated.
  @Test func responsesInProgressAreFinished() async throws {
    let folder = try TemporaryFolder()
    // Large, because it is noise behind the image's end.
    var random = SeededGenerator(seed: 1)
    let noise = (0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    let bytes = try SampleTiles.image(1) + noise
    try folder.writeSingleTile("big.mbtiles", bytes)
    let port = try Socket.unsharedPort()
    try await serving([folder.path]) {
      $0.limits.drainSeconds = 30
      $0.port = port
    } _: { (served) async throws in
      let connection = Unshared(HTTPConnection(try Socket(port: served.port, receiveBytes: 4096)))
      try connection.value.send(HTTPConnection.head("/big/0/0/0.png"))
      // It is answered when it is counted.
      #expect(try eventually { try served.metric("tileserve_response_body_bytes_total") ?? 0 >= 3_000_000 })
      let server = served.server
      let end = Task { try await server.shutdown() }
      #expect(try await onThread { eventually { (try? Socket(port: port)) == nil } })
      let response = try await onThread { try connection.value.response() }
      #expect(response.body == bytes)
      connection.value.socket.close()
      try await end.value
    }
  }

  /// Clients that never finish do not keep the server running.
  @Test func drainIsLimitedInTime() async throws {
    try await serving([SampleTilesets.path]) {
      $0.limits.drainSeconds = 1
    } _: { (served) async throws in
      let half = try served.connect()
      try half.send("GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
      for _ in 0..<20 { #expect(try served.get("/health").status == 200) }
      let start = ContinuousClock.now
      try await served.server.shutdown()
      #expect(ContinuousClock.now - start < .seconds(20))
      let last = Unshared(half)
      #expect(try await onThread { last.value.isAtEnd() })
    }
  }
}
