import TestSupport
import Testing

@testable import TileServe

/// Valid and invalid forms of requests (RFC 9110, RFC 9112).
@Suite(.ownThread) struct RequestFormTests {
  @Test(arguments: [
    "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "CONNECT", "BREW", "M-WISH", "get", "M!X",
    "!#$%&'*+-.^_`|~09Az",
  ])
  func otherMethodsAreNotAllowed(_ method: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let response = try served.get(method == "CONNECT" ? "localhost:80" : "/relief/0/0/0.png", method: method)
      #expect(response.statusLine == "HTTP/1.1 405 Method Not Allowed")
      #expect(response["Allow"] == "GET, HEAD, OPTIONS")
    }
  }

  /// Unknown methods are 405, also after other requests.
  @Test func unknownMethodsAreNotAllowed() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for first in ["", HTTPConnection.head("/health"), HTTPConnection.head("/health", ["Connection": "keep-alive"])] {
        let connection = try served.connect()
        if !first.isEmpty {
          try connection.send(first)
          #expect(try connection.response().status == 200)
        }
        let response = try connection.request("/health", method: "BREW")
        #expect(response.status == 405 && response["Allow"] == "GET, HEAD, OPTIONS", "\(first): \(response)")
        #expect(response.closes && connection.isAtEnd())
      }
      // An invalid token is not a request.
      for nonsense in [
        "BREW\r\n\r\n", "\u{16}\u{3}\u{1} / HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n", "\"GET\" / HTTP/1.1\r\n\r\n",
      ] {
        let connection = try served.connect()
        try connection.send(nonsense)
        #expect(try connection.response().status == 400, "\(nonsense)")
      }
    }
  }

  /// A client that waits before its body gets 100 Continue if the body is read, and otherwise the final response (RFC
  /// 9110, section 10.1.1).
  @Test func expectContinueIsAnswered() async throws {
    try await serving([SampleTilesets.path]) {
      $0.limits.bodyBytesMax = 1000
    } _: { (served) async throws in
      func head(_ method: String, _ more: String) -> String {
        "\(method) /health HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n\r\n"
      }
      let expects = "Expect: 100-continue"
      for more in ["Content-Length: 5\r\nExpect: 100-Continue", "\(expects)\r\nTransfer-Encoding: chunked"] {
        let connection = try served.connect()
        // 100 Continue comes after the responses to earlier requests.
        try connection.send(HTTPConnection.head("/photo/1/0/0.webp") + head("GET", more))
        #expect(try connection.response().status == 200)
        let go = try connection.response()
        #expect(go.statusLine == "HTTP/1.1 100 Continue" && go.fields.isEmpty, "\(go)")
        try connection.send(more.hasPrefix("Content") ? "hello" : "5\r\nhello\r\n0\r\n\r\n")
        #expect(try connection.response().text == "ok\n")
        #expect(try connection.request("/health").status == 200)
      }
      let refusals = [
        (head("POST", "Content-Length: 5\r\n\(expects)"), 405), (head("BREW", "Content-Length: 5\r\n\(expects)"), 405),
        (head("PUT", "Transfer-Encoding: chunked\r\n\(expects)"), 405),
        (head("GET", "Content-Length: 1001\r\n\(expects)"), 413),
        (head("GET", "Content-Length: 5\r\nExpect: 200-maybe"), 417),
        (head("GET", "Content-Length: 5\r\nExpect: 100-continue, 200-maybe"), 417),
        (head("GET", "Content-Length: 5\r\n\(expects)\r\nExpect: 200-maybe"), 417),
      ]
      for (request, status) in refusals {
        let connection = try served.connect()
        try connection.send(request)
        let response = try connection.response()
        #expect(response.status == status && response.closes, "\(request): \(response)")
        #expect(connection.isAtEnd())
      }
      // No 100 without a body, or in HTTP/1.0.
      #expect(try served.get("/health", ["Expect": "100-continue"]).status == 200)
      let strange = try served.connect()
      #expect(try strange.request("/health", ["Expect": "tea"]).statusLine == "HTTP/1.1 417 Expectation Failed")
      #expect(try strange.request("/health").status == 200)
      let old = try served.connect()
      try old.send("GET /health HTTP/1.0\r\nContent-Length: 5\r\n\(expects)\r\n\r\nhello")
      #expect(try old.response().status == 200)
    }
  }

  /// A body that would be refused is not waited for.
  @Test(arguments: ["GET", "HEAD", "POST"]) func aLargeBodyIsRefusedAtOnce(_ method: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      try connection.send(
        "\(method) /relief/0/0/0.png HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
      let response = try connection.response(to: method)
      #expect(response.status == (method == "POST" ? 405 : 413) && response.closes, "\(response)")
      #expect(connection.isAtEnd())
    }
  }

  @Test func bodiesAreSkipped() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      let lengthy = "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /"
      let chunked =
        "POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\nX: y\r\n\r\n"
      for _ in 0..<3 {
        try connection.send(lengthy + chunked)
        #expect(try connection.response().status == 200)
        #expect(try connection.response().status == 405)
      }
      #expect(try connection.request("/health").status == 200)
    }
  }

  /// Two lengths, or a length and chunks, are used for request smuggling.
  @Test(arguments: [
    "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: -1",
    "Content-Length: 5x", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked",
  ])
  func ambiguousBodiesEndTheConnection(_ fields: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      try connection.send(
        "POST /health HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\nhello GET /health HTTP/1.1\r\n\r\n")
      let response = try connection.response()
      #expect(response.status == 400 && response.closes, "\(response)")
      #expect(connection.isAtEnd())
    }
  }

  @Test func http10IsAnsweredAndClosed() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      var connection = try served.connect()
      try connection.send("GET /health HTTP/1.0\r\n\r\n")
      let response = try connection.response()
      #expect(response.status == 200 && response.closes)
      #expect(connection.isAtEnd())

      connection = try served.connect()
      for _ in 0..<2 {
        try connection.send("GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
        #expect(try connection.response()["Connection"] == "keep-alive")
      }
    }
  }

  @Test func connectionCloseIsHonoured() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for value in ["close", "Close", "foo, close"] {
        let connection = try served.connect()
        #expect(try connection.request("/relief/0/0/0.png", ["Connection": value]).closes)
        #expect(connection.isAtEnd(), "\(value)")
      }
      let connection = try served.connect()
      #expect(try connection.request("/health")["Connection"] == nil)
      #expect(try connection.request("/health").status == 200)
    }
  }

  /// curl --http2 sends this; its later requests must be answered.
  @Test(arguments: ["h2c", "websocket", "TLS/1.0"]) func upgradesAreIgnored(_ name: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      let response = try connection.request(
        "/health", ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": name, "HTTP2-Settings": "AAMAAABk"])
      #expect(response.status == 200)
      if response.closes {
        #expect(connection.isAtEnd())
      } else {
        #expect(try connection.request("/health").status == 200)
      }
    }
  }

  @Test func absoluteTargets() async throws {
    try await serving([SampleTilesets.path]) {
      $0.allowedHosts = ["localhost", "maps.example"]
    } _: { (served) async throws in
      #expect(try served.get("http://localhost:\(served.port)/health").text == "ok\n")
      #expect(try served.get("http://localhost").status == 200)
      #expect(try served.get("https://MAPS.example:99/relief.json").status == 200)
      // The target's host takes precedence over the field (RFC 9112, section 3.2.2).
      let list = try served.get("http://maps.example:81/tilesets.json", ["Host": "localhost"])
      #expect(
        list.text.contains("http:\\/\\/maps.example:81\\/relief.json")
          || list.text.contains("http://maps.example:81/relief.json"), "\(list)")
      #expect(try served.get("http://evil.example/health", ["Host": "localhost"]).status == 421)
      #expect(try served.get("http://").status != 200)
    }
  }

  @Test func exactlyOneHostFieldIsRequired() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for head in [
        "GET /health HTTP/1.1\r\n\r\n", "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nhost: b\r\n\r\n",
      ] {
        let connection = try served.connect()
        try connection.send(head)
        #expect(try connection.response().status == 400, "\(head)")
      }
    }
  }

  @Test func allowedHosts() async throws {
    try await serving([SampleTilesets.path]) {
      $0.allowedHosts = ["localhost", "[::1]", "Maps.Example"]
    } _: { (served) async throws in
      for host in ["localhost", "LOCALHOST:8080", "[::1]:80", "[::1]", "maps.example"] {
        #expect(try served.get("/health", ["Host": host]).status == 200, "\(host)")
      }
      for host in ["evil.example", "localhost.evil.example", ""] {
        let response = try served.get("/health", ["Host": host])
        #expect(response.statusLine == "HTTP/1.1 421 Misdirected Request", "\(host)")
      }
      // A page that uses DNS rebinding may add any fields.
      #expect(try served.get("/health", ["Host": "evil.example", "X-Forwarded-Host": "localhost"]).status == 421)
      #expect(try served.get("/health", ["Host": "localhost", "X-Forwarded-Host": "evil.example"]).status == 421)
      #expect(try served.get("/health", ["Host": "localhost", "X-Forwarded-Host": "maps.example"]).status == 200)
    }
  }

  /// Without a list: pages of others reach a server of this machine under their own name (DNS rebinding).
  @Test func aServerOfThisMachineHasNoForeignName() async throws {
    try await serving([SampleTilesets.path]) {
      $0.publicURL = "https://Maps.example:8443/tiles"
    } _: { (served) async throws in
      for host in ["localhost", "LOCALHOST:8080", "[::1]:80", "127.0.0.1:1", "192.0.2.7", "maps.EXAMPLE", ""] {
        for target in ["/health", "/relief/0/0/0.png", "/relief/0/0/0.png"] {
          #expect(try served.get(target, ["Host": host]).status == 200, "\(host)")
        }
      }
      for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "2130706433", "1.2.3"] {
        for target in ["/health", "/relief/0/0/0.png", "http://\(host)/relief.json"] {
          let answer = try served.get(target, ["Host": host, "X-Forwarded-Host": "localhost"])
          #expect(answer.status == 421 && answer.text.contains("allowedHosts"), "\(host) \(answer)")
        }
      }
      #expect(try served.get("/health", ["Host": "localhost", "X-Forwarded-Host": "shop.example"]).status == 200)
      let connection = try served.connect()
      try connection.send("GET /health HTTP/1.0\r\n\r\n")
      #expect(try connection.response().status == 200)
    }
    // With a list, addresses still reach it.
    try await serving([SampleTilesets.path]) {
      $0.allowedHosts = ["maps.example"]
    } _: { (served) async throws in
      for host in ["maps.example", "127.0.0.1", "localhost:1"] {
        #expect(try served.get("/health", ["Host": host]).status == 200, "\(host)")
      }
    }
    // Other addresses are reached by names that the server does not know.
    try await serving([SampleTilesets.path]) {
      $0.host = "0.0.0.0"
    } _: { (served) async throws in
      #expect(try served.get("/health", ["Host": "maps.example"]).status == 200)
    }
  }

  /// A chunk that is larger than what is read of a body.
  @Test(arguments: ["ffffffffffffffff", "2540be400", "10001"]) func chunkSizes(_ size: String) async throws {
    try await serving([SampleTilesets.path]) {
      $0.limits.requestSeconds = 3600
    } _: { (served) async throws in
      let connection = try served.connect()
      try connection.send(
        "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n\(size)\r\nabc")
      #expect(try connection.response().status == 413)
      #expect((try? connection.request("/health")) == nil, "it is closed")
    }
  }

  @Test func optionsIsAnsweredEverywhere() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in ["*", "/", "/relief/0/0/0.png", "/nothing"] {
        let response = try served.get(target, method: "OPTIONS")
        #expect(response.status == 204 && response["Allow"] == "GET, HEAD, OPTIONS", "\(target): \(response)")
      }
      #expect(try served.get("*").status == 400)
    }
  }
}
