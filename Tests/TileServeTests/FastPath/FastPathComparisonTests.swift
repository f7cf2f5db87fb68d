import NIOCore
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// The fast path and the plain path answer the same requests with the same bytes, except for the date.
@Suite(.ownThread) struct FastPathComparisonTests {
  /// A request, and everything but the date of what came back.
  private struct Answer: Equatable, CustomStringConvertible {
    var request: String
    var head: [String]
    var body: [UInt8]

    init(_ request: String, _ response: HTTPResponse) {
      self.request = request
      head = [response.statusLine] + response.fields.map { "\($0.name): \($0.name == "Date" ? "" : $0.value)" }
      body = response.body
    }

    /// For bytes that hold several responses, or none that a client would take.
    init(_ request: String, raw: [UInt8]) {
      self.request = request
      head = []
      body = raw
      // The 29 bytes of every date.
      let name = Array("\r\nDate: ".utf8)
      var at = 0
      while at + name.count + 29 <= body.count {
        if body[at] == name[0], body[at..<(at + name.count)].elementsEqual(name) {
          for place in (at + name.count)..<(at + name.count + 29) { body[place] = UInt8(ascii: "-") }
        }
        at += 1
      }
    }

    var description: String { "\(request)\n\(head.joined(separator: "\n"))\n\(body.count) bytes" }
  }

  /// Has the same conversation with both paths, one after the other, and compares what came back.
  private func compare(_ paths: [String], _ converse: (Served) throws -> [Answer]) async throws {
    var heard: [[Answer]] = []
    for fastPath in [true, false] {
      try await serving(paths) {
        $0.fastPath = fastPath
      } _: { (served) async throws in
        heard.append(try converse(served))
        let readyBytes = try #require(try served.metric("tileserve_ready_bytes"))
        #expect((readyBytes > 0) == fastPath, "the fast path was\(fastPath ? " not" : "") used")
      }
    }
    #expect(heard[0].count == heard[1].count && heard[0].count > 0)
    for (fast, plain) in zip(heard[0], heard[1]) where fast != plain {
      Issue.record("the fast path answers \(fast)\nthe plain path \(plain)")
    }
  }

  /// Every tile of every bundle, by a client that asks for one after the other on one connection.
  @Test func tilesOfAllBundles() async throws {
    try await compare([SampleTilesets.path]) { served in
      let connection = try served.connect()
      var answers: [Answer] = []
      for tileset in served.registry.tilesets {
        let matrixSet = try tileset.info().matrixSet
        for zoom in 0...3 {
          for tile in matrixSet.wholeRange(zoom: zoom) {
            let target = "/\(tileset.id)/\(tile.zoom)/\(tile.column)/\(tile.row)"
            // The second answer is stored, the third comes from there.
            for _ in 0..<3 { answers.append(Answer(target, try connection.request(target))) }
          }
        }
      }
      return answers
    }
  }

  /// Other methods and fields between plain requests, on connections that stay open.
  @Test func conditionsMethodsRangesAndCodings() async throws {
    try await compare([SampleTilesets.path]) { served in
      let targets = [
        "/relief/1/1/0.png", "/relief/1/1/0", "/photo/1/0/0.jpg", "/roads/0/0/0.pbf", "/roads/1/1/1.pbf",
        "/relief/2/3/3.png", "/air/1/1/1.webp", "/relief/1/1/0@2x.png", "/relief/1/1/0.jpg",
        "/tms/1.0.0/relief/1/1/0.png",
        "/wmts/1.0.0/relief/default/WebMercatorQuad/1/0/1.png", "/relief.json", "/health", "/relief,labels/1/0/0.png",
      ]
      let fields: [[String: String]] = [
        [:], ["Accept-Encoding": "gzip"], ["Accept-Encoding": "gzip, deflate, br", "Accept": "image/*"],
        ["Accept-Encoding": "identity"], ["Accept-Encoding": "gzip;q=0"], ["Range": "bytes=0-99"],
        ["Range": "bytes=5-", "If-Range": "\"a\""], ["If-None-Match": "\"nothing\""], ["If-None-Match": "*"],
        ["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], ["Origin": "https://a.example"],
        ["Host": "other.example"], ["Host": "192.0.2.7"], ["Connection": "keep-alive"], ["Cache-Control": "no-cache"],
      ]
      var answers: [Answer] = []
      for target in targets {
        let connection = try served.connect()
        let tag = try served.get(target)["ETag"] ?? "\"\""
        let date = try served.get(target)["Last-Modified"] ?? ""
        for fields in fields + [["If-None-Match": tag], ["If-Modified-Since": date]] {
          for method in ["GET", "GET", "GET", "HEAD", "OPTIONS", "GET"] {
            let response = try connection.request(target, method: method, fields)
            answers.append(Answer("\(method) \(target) \(fields.sorted { $0.key < $1.key })", response))
          }
        }
      }
      return answers
    }
  }

  /// Browsers' requests are plain: their `keep-alive` says what holds anyway.
  @Test(arguments: [
    ("Connection: keep-alive", true), ("connection:Keep-Alive", true), ("Connection: close", false),
    ("Connection: keep-alive, close", false), ("Connection: keep-alive, Upgrade", false), ("Connection:", false),
    ("Connection: keep-alive\r\nConnection: close", false), ("Connection: keep-alives", false),
    ("Keep-Alive: timeout=5", false), ("Proxy-Connection: keep-alive", false), ("Upgrade: h2c", false),
  ])
  func requestsThatKeepTheirConnectionArePlain(field: String, isPlain: Bool) {
    let bytes = ByteBuffer(string: "GET /a/0/0/0.png HTTP/1.1\r\nHost: a\r\n\(field)\r\nAccept: */*\r\n\r\n")
    let request = PlainRequest(bytes, ConnectionLimits())
    #expect((request != nil) == isPlain && request.map { $0.byteCount == bytes.readableBytes } ?? true)
  }

  /// Each on a connection of its own, until the server ends it.
  @Test func errorsAndLastRequests() async throws {
    try await compare([SampleTilesets.path]) { served in
      let plain = HTTPConnection.head("/relief/1/1/0.png")
      let last = HTTPConnection.head("/relief/0/0/0.png", ["Connection": "close"])
      let requests = [
        "", last, plain + last, plain + plain + plain + plain + last,
        HTTPConnection.head("/nothing/0/0/0.png") + last, HTTPConnection.head("/relief/0/1/0.png") + last,
        HTTPConnection.head("/relief/99999999999/0/0.png") + last, HTTPConnection.head("/relief/0/0/0.gif") + last,
        HTTPConnection.head("/relief/%zz/0/0.png") + last, HTTPConnection.head("/relief/1/%31/0.png") + last,
        HTTPConnection.head("/" + String(repeating: "a", count: 5000)) + last,
        HTTPConnection.head("/relief/1/1/0.png", method: "POST") + last,
        HTTPConnection.head("/relief/1/1/0.png", method: "BREW") + last,
        HTTPConnection.head("/relief/1/1/0.png", ["Expect": "100-continue", "Content-Length": "3"]) + "abc" + last,
        HTTPConnection.head("/relief/1/1/0.png", ["Expect": "wonders"]) + last,
        HTTPConnection.head("/relief/1/1/0.png", ["Content-Length": "3"]) + "abc" + last,
        HTTPConnection.head("/relief/1/1/0.png", ["Transfer-Encoding": "chunked"]) + "3\r\nabc\r\n0\r\n\r\n" + last,
        HTTPConnection.head("/relief/1/1/0.png", ["Upgrade": "websocket", "Connection": "upgrade"]),
        HTTPConnection.head("http://other.example/relief/1/1/0.png") + last,
        plain + "GET /relief/1/1/0.png HTTP/1.0\r\n\r\n",
        "GET /relief/1/1/0.png HTTP/1.1\r\n\r\n" + last,
        "GET /relief/1/1/0.png HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n" + last,
        "GET /relief/1/1/0.png HTTP/1.1\r\nHost: localhost\r\nBroken line\r\n\r\n", "nonsense\r\n\r\n",
        plain + "nonsense\r\n\r\n",
        "GET /relief/1/1/0.png HTTP/1.1\nHost: localhost\n\n" + last,
        HTTPConnection.head("/relief/1/1/0.png", ["X-Long": String(repeating: "a", count: 40_000)]),
      ]
      var answers: [Answer] = []
      // A stored response for the fast path to use.
      for _ in 0..<3 { answers.append(Answer("first", try served.get("/relief/1/1/0.png"))) }
      for request in requests where !request.isEmpty {
        let connection = try served.connect()
        try connection.send(request)
        if !request.hasSuffix(last) { try? connection.send(last) }
        answers.append(Answer(String(request.prefix(200)), raw: connection.rest()))
      }
      return answers
    }
  }

  /// Several requests in one piece, cut anywhere: the same bytes in the same order.
  @Test func pipelinedRequests() async throws {
    try await compare([SampleTilesets.path]) { served in
      let targets = [
        "/relief/1/1/0.png", "/relief/0/0/0.png", "/photo/1/0/0.jpg", "/roads/0/0/0.pbf", "/nothing/0/0/0.png",
        "/health",
        "/relief/1/1/0@2x.png",
      ]
      var random = SeededGenerator(seed: 17)
      var answers: [Answer] = []
      for round in 0..<30 {
        let connection = try served.connect()
        let picks = (0..<Int.random(in: 1...20, using: &random)).map { _ in targets.randomElement(using: &random)! }
        let last = HTTPConnection.head("/air/0/0/0.webp", ["Connection": "close"])
        let text = picks.map { HTTPConnection.head($0, ["Accept-Encoding": "gzip"]) }.joined() + last
        let cut = text.index(text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &random))
        try connection.send(String(text[..<cut]))
        try connection.send(String(text[cut...]))
        answers.append(Answer("round \(round): \(picks)", raw: connection.rest()))
      }
      return answers
    }
  }

  /// Bodies of which the fast path sends the pages of its memory.
  @Test func largeTiles() async throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 5)
    let writer = try BundleWriter(path: folder.file("big.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: 2) {
      let start = UInt8.random(in: 0...255, using: &random)
      let count = Int.random(in: 10_000...300_000, using: &random)
      try writer.put(
        tile,
        [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
          + (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0 &* 7) })
    }
    _ = try writer.finish(BundleMetadata(name: "big"))
    try await compare([folder.path]) { served in
      let targets = TileMatrixSet.webMercatorQuad.wholeRange(zoom: 2).map {
        "/big/\($0.zoom)/\($0.column)/\($0.row).png"
      }
      let connection = try served.connect()
      var answers: [Answer] = []
      for _ in 0..<12 {
        for target in targets { answers.append(Answer(target, try connection.request(target))) }
      }
      // And many at once, so that the socket is full in between.
      let other = try served.connect()
      try other.send((targets + targets).map { HTTPConnection.head($0) }.joined())
      try other.send(HTTPConnection.head("/health", ["Connection": "close"]))
      answers.append(Answer("all at once", raw: other.rest()))
      return answers
    }
  }
}
