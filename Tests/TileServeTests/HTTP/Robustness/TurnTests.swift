import TestSupport
import Testing

@testable import TileServe

/// Clients that send many requests at once, and do not read the answers.
@Suite(.ownThread) struct TurnTests {
  /// Each gets a few answers at a time, so that another client need not wait for all of them.
  @Test(arguments: ["Accept: */*", "Connection: keep-alive"]) func aClientDoesNotWaitForAll(_ field: String)
    async throws
  {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let other = try served.connect()
      #expect(try other.request("/health").status == 200)
      let (clients, each) = (60, 1000)
      let requests = String(repeating: "GET /ready HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n", count: each)
      let greedy = try (0..<clients).map { _ in
        let connection = try served.connect()
        try connection.send(requests)
        return connection
      }
      // By the time of this answer.
      let document = try other.request("/metrics").text
      let line = try #require(
        document.split(separator: "\n").first { $0.hasPrefix("tileserve_requests_total") && $0.contains("\"ready\"") })
      let count = try #require(line.split(separator: " ").last.flatMap { Double($0) })
      #expect(count < Double(clients * each / 2), "\(line)")
      _ = greedy
    }
  }

  /// All of them are answered, in their order.
  @Test(arguments: ["Accept: */*", "Connection: keep-alive"]) func allAreAnswered(_ field: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      let targets = (0..<500).map { ["/health", "/relief/0/0/0.png", "/nothing/0/0/0.png", "/relief.json"][$0 % 4] }
      let expected = try targets.prefix(4).map { try served.get($0) }
      try connection.send(
        targets.map { "GET \($0) HTTP/1.1\r\nHost: 127.0.0.1:\(served.port)\r\n\(field)\r\n\r\n" }.joined())
      for (index, target) in targets.enumerated() {
        let response = try connection.response()
        #expect(response.status == expected[index % 4].status && response.body == expected[index % 4].body, "\(target)")
      }
    }
  }
}
