import TestSupport
import Testing

@testable import TileServe

/// Limits for clients.
@Suite(.ownThread) struct LimitTests {
  @Test func oversizedRequestsAreRejected() async throws {
    try await serving([SampleTilesets.path]) {
      $0.limits.headerBytesMax = 8192
      $0.limits.headerCountMax = 20
      $0.limits.bodyBytesMax = 1000
    } _: { (served) async throws in
      let long = String(repeating: "a", count: 5000)
      let cases: [(String, [Int])] = [
        ("GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n", [414]),
        ("GET /\(long + long) HTTP/1.1\r\nHost: localhost\r\n\r\n", [414, 431]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(long + long)\r\n\r\n", [431]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(long)\r\nY: \(long)\r\n\r\n", [431]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n" + String(repeating: "X: y\r\n", count: 30) + "\r\n", [431]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\(long + long): x\r\n\r\n", [431]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n\(long)", [413]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n\(long)\r\n0\r\n\r\n", [413]),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n\(long)\r\n0\r\n\r\n", [405]),
      ]
      for (request, statuses) in cases {
        let connection = try served.connect()
        try connection.send(request)
        let response = try connection.response()
        #expect(statuses.contains(response.status), "\(request.prefix(60)): \(response)")
        if response.status != 414 { #expect(response.closes && connection.isAtEnd()) }
      }
      // An endless field that is sent in pieces is closed as well.
      let endless = try served.connect()
      try endless.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
      for _ in 0..<100 { if (try? endless.send(long)) == nil { break } }
      let end = endless.rest()
      #expect(end.isEmpty || end.starts(with: "HTTP/1.1 431 ".utf8))
      #expect(try served.get("/health").status == 200)
      #expect(try served.isQuiet())
    }
  }

  @Test func thousandPipelinedRequestsAreAnsweredInOrder() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      // Some are answered at once, some by rendering threads; the order must be kept.
      let kinds = [
        "/relief/1/0/1.png", "/relief/2/3/3.png", "/photo/1/0/0.png", "/relief/9/9/x.png", "/roads/0/0/0.pbf",
        "/health",
      ]
      let expected = try kinds.map { try served.get($0) }
      let requests = (0..<1000).map { HTTPConnection.head(kinds[$0 % kinds.count]) }.joined()
      try await onThread { [socket = Unshared(connection)] in
        // Responses are read while requests are sent, to avoid a deadlock.
        try socket.value.send(requests)
      }
      for index in 0..<1000 {
        let response = try connection.response()
        let wanted = expected[index % kinds.count]
        #expect(response.status == wanted.status && response.body == wanted.body, "\(index)")
      }
      #expect(try connection.request("/health").status == 200)
    }
  }

  /// Requests before an invalid one are answered first, however long that takes.
  @Test func earlierRequestsAreAnsweredBeforeAnError() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      let lane = try #require(served.registry["photo"]).lane
      let gate = Gate()
      defer { gate.open() }
      for _ in 0..<WorkPool.laneWidth { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      try connection.send(HTTPConnection.head("/photo/0/0/0.jpg"))
      try connection.send("NONSENSE\r\n\r\n")
      #expect(try served.get("/health").status == 200)
      try connection.send("more of it\r\n\r\n")
      #expect(try served.get("/health").status == 200)
      gate.open()
      #expect(try connection.response()["Content-Type"] == "image/jpeg")
      let complaint = try connection.response()
      #expect(complaint.status == 400 && complaint.closes)
      #expect(connection.isAtEnd())
    }
  }

  @Test func slowRequestsAreClosed() async throws {
    try await serving([SampleTilesets.path]) {
      $0.limits.requestSeconds = 1
      $0.limits.idleSeconds = 1
    } _: { (served) async throws in
      let lorises = try (0..<100).map { _ in try served.connect() }
      for (index, loris) in lorises.enumerated() {
        switch index % 4 {
        case 0: break
        case 1: try loris.send("G")
        case 2: try loris.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        default: try loris.send("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
        }
      }
      // Others are served meanwhile; single bytes do not extend the limit.
      for _ in 0..<5 {
        for loris in lorises { try? loris.send("a") }
        #expect(try served.get("/relief/1/0/0.png").status == 200)
      }
      #expect(try served.isQuiet())
      #expect(try served.metric("tileserve_connections_dropped_total") ?? 0 >= 100)
      for loris in lorises { loris.socket.close() }
    }
  }

  /// A client that sends requests and does not read the responses exhausts neither memory nor file descriptors.
  @Test func clientsThatDoNotReadAreClosed() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("big.mbtiles", zooms: 0...0, edge: 256)
    try await serving([folder.path]) {
      $0.limits.writeSeconds = 1
    } _: { (served) async throws in
      let socket = try Socket(port: served.port, receiveBytes: 2048)
      let request = Array(HTTPConnection.head("/big.json").utf8)
      let sent = try await onThread { [socket = Unshared(socket)] in
        var count = 0
        // Until the server stops reading and closes.
        while count < 1_000_000, (try? socket.value.send(request)) != nil { count += 1 }
        return count
      }
      #expect(sent < 1_000_000)
      #expect(try served.isQuiet())
      #expect(try served.get("/health").status == 200)
      withExtendedLifetime(socket) {}
    }
  }

  @Test func oldestIdleConnectionIsClosedForANewOne() async throws {
    try await serving([SampleTilesets.path]) {
      $0.loopCount = 1
      $0.limits.connectionCountMax = 4
    } _: { (served) async throws in
      let first = try served.connect()
      #expect(try first.request("/health").status == 200)
      let others = try (0..<3).map { _ in try served.connect() }
      for other in others { #expect(try other.request("/health").status == 200) }
      // The first connection was used last.
      #expect(try first.request("/health").status == 200)
      #expect(try served.get("/health").status == 200)
      #expect(others[0].isAtEnd())
      #expect(try first.request("/health").status == 200)
      for other in others.dropFirst() { #expect(try other.request("/health").status == 200) }
    }
  }

  /// A connection with a request in progress is not closed for a new one.
  @Test func busyConnectionsAreNotClosedForNewOnes() async throws {
    try await serving([SampleTilesets.path]) {
      $0.loopCount = 1
      $0.limits.connectionCountMax = 1
    } _: { (served) async throws in
      let lane = try #require(served.registry["photo"]).lane
      let gate = Gate()
      defer { gate.open() }
      for _ in 0..<WorkPool.laneWidth { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      let busy = try served.connect()
      try busy.send(HTTPConnection.head("/health") + HTTPConnection.head("/photo/0/0/0.jpg"))
      #expect(try busy.response().text == "ok\n")
      #expect(try served.connect().isAtEnd())
      gate.open()
      #expect(try busy.response().status == 200)
      #expect(try served.get("/health").status == 200)
    }
  }
}
