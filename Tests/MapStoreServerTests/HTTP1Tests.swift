import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreServer

/// Requests as no client of ours sends them.
@Suite(.ownThread) struct HTTP1Tests {
  /// What comes back until the server ends the connection or says nothing for a while.
  private func exchange(_ text: String, port: Int) async throws -> String {
    try await onThread {
      let socket = try Socket(port: port)
      try socket.send(text)
      var answer = ""
      while let more = try? socket.receive(), !more.isEmpty { answer += String(decoding: more, as: UTF8.self) }
      return answer
    }
  }

  /// RFC 9112, section 3.2.
  @Test func aRequestHasOneHost() async throws {
    try await TestStore.run { store in
      for (hosts, status) in [("", 400), ("Host: a\r\nHost: b\r\n", 400), ("Host: a:x\r\n", 400), ("Host: a\r\n", 200)]
      {
        let text = "GET /health HTTP/1.1\r\n\(hosts)Connection: close\r\n\r\n"
        let answer = try await exchange(text, port: store.server.port)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(hosts) \(answer)")
        #expect(status == 200 || answer.contains("one Host field"), "\(answer)")
      }
      // Behind one that is answered.
      let two = "GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /health HTTP/1.1\r\n\r\n"
      let answer = try await exchange(two, port: store.server.port)
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("HTTP/1.1 400 "), "\(answer)")
    }
  }

  @Test func connectionsOfHTTP10AreClosed() async throws {
    try await TestStore.run {
      $0.limits.idleSeconds = 3600
    } _: { store in
      for fields in ["", "Connection: keep-alive\r\n"] {
        let answer = try await exchange("GET /health HTTP/1.0\r\n\(fields)\r\n", port: store.server.port)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("ok\n"), "\(answer)")
      }
    }
  }

  /// Announced chunks that no body may have are refused before they come.
  @Test(arguments: ["ffffffffffffffff", "2540be400", "7fffffffffffffff"]) func chunkSizes(_ size: String) async throws {
    try await TestStore.run {
      $0.limits.requestSeconds = 3600
    } _: { store in
      let head = "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      for before in ["", "3\r\nabc\r\n"] {
        let answer = try await exchange(head + before + size + "\r\nabc", port: store.server.port)
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("too-large"), "\(answer)")
      }
    }
  }

  /// RFC 9110, section 10.1.1.
  @Test func aClientThatWaitsIsToldToSendItsBody() async throws {
    try await TestStore.run { store in
      let body = "{}"
      let head =
        "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
      let port = store.server.port
      let (first, rest) = try await onThread {
        let socket = try Socket(port: port)
        try socket.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + head + "Content-Length: \(body.utf8.count)\r\n\r\n")
        var first = ""
        while !first.contains("100 Continue\r\n\r\n") {
          let more = try socket.receive()
          if more.isEmpty { break }
          first += String(decoding: more, as: UTF8.self)
        }
        try socket.send(body)
        return (first, String(decoding: try socket.receive(), as: UTF8.self))
      }
      // After the answer to the request before it.
      #expect(first.hasPrefix("HTTP/1.1 200 ") && first.hasSuffix("ok\nHTTP/1.1 100 Continue\r\n\r\n"), "\(first)")
      #expect(rest.hasPrefix("HTTP/1.1 400 "), "\(rest)")
      // A body that is too large is refused before it is sent.
      let large = try await exchange(head + "Content-Length: 99999999\r\n\r\n", port: port)
      #expect(large.hasPrefix("HTTP/1.1 413 ") && !large.contains("100 Continue"), "\(large)")
    }
  }
}
