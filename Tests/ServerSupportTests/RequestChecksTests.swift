import NIOHTTP1
import Testing

@testable import ServerSupport

/// What NIO's parser leaves to the server.
struct RequestChecksTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let chunked = "POST / HTTP/1.1\r\nHost: a\r\ntransfer-Encoding: gzip, Chunked\r\n\r\n"

  /// Where a chunk is too large, whatever pieces the bytes come in.
  private func tooLarge(_ text: String, pieces: Int) -> Int? {
    var (sizes, at) = (ChunkSizes(bytesMax: 1000), 0)
    let bytes = Array(text.utf8)
    while at < bytes.count {
      let piece = bytes[at..<min(at + pieces, bytes.count)]
      if let found = sizes.firstTooLarge(piece) { return at + found }
      at += piece.count
    }
    return nil
  }

  @Test(arguments: [
    "3e9", "ffffffffffffffff", "2540be400", "7fffffffffffffff", "FFFFFFFFFFFFFFFFFFFFFFFF", "00003E9;x",
  ])
  func aChunkBeyondTheLimitIsFound(_ size: String) {
    for before in ["", Self.get, "\r\n" + Self.get, Self.chunked + "3\r\nabc\r\n0\r\nA: b\r\n\r\n"] {
      let text = before + Self.chunked + "3e8\r\n" + String(repeating: "\n", count: 1000) + "\r\n" + size + "\r\nabc"
      let line = text.utf8.count - size.utf8.count - 5
      for pieces in [1, 2, 7, 10_000] {
        let found = tooLarge(text, pieces: pieces)
        // The line may have begun in an earlier piece.
        #expect(
          found.map { (line..<(line + size.utf8.count)).contains($0) } == true, "\(before) \(pieces) \(found ?? -1)")
      }
      #expect(tooLarge(text, pieces: 10_000) == line)
    }
  }

  @Test(arguments: [
    "POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\nffffffffff\r\n", "GET / HTTP/1.1\r\nX: chunked\r\n\r\nffffffff\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "nonsense\r\n\r\nffffffffffff\r\n", "\r\n\r\n\r\n",
  ])
  func otherBytesAreNoChunks(_ text: String) {
    for pieces in [1, 3, 10_000] {
      #expect(tooLarge(text, pieces: pieces) == nil)
      #expect(tooLarge(text + Self.chunked + "3e8\r\n" + "0\r\n", pieces: pieces) == nil)
    }
  }

  @Test(
    arguments: [
      (["Host": "a"], 1, true), ([:], 1, false), ([:], 0, true), (["Host": "a", "host": "b"], 1, false),
      (["Host": ""], 1, true), (["Host": "a:x"], 1, false), (["Host": "a"], 0, true),
    ] as [(KeyValuePairs<String, String>, Int, Bool)])
  func hosts(_ fields: KeyValuePairs<String, String>, _ minorVersion: Int, _ isValid: Bool) {
    let headers = HTTPHeaders(fields.map { ($0.key, $0.value) })
    let head = HTTPRequestHead(version: .init(major: 1, minor: minorVersion), method: .GET, uri: "/", headers: headers)
    let framing = RequestFraming(head)
    let fault = RequestFraming.hostFault(
      count: framing.hostCount, minorVersion: framing.minorVersion, host: headers["host"].first)
    #expect((fault == nil) == isValid, "\(fault ?? "")")
  }

  @Test func framing() {
    func framing(_ fields: [(String, String)], minor: Int = 1) -> RequestFraming {
      RequestFraming(
        HTTPRequestHead(
          version: .init(major: 1, minor: minor), method: .POST, uri: "/", headers: HTTPHeaders(fields)))
    }
    #expect(framing([("EXPECT", "100-Continue")]).expectation == .proceed)
    #expect(framing([("Expect", "100-continue")], minor: 0).expectation == .none)
    #expect(framing([("Expect", "100-continue"), ("Expect", "more")]).expectation == .unknown)
    #expect(framing([("Content-Length", "1")]).hasBody && !framing([("Content-Length", "0")]).hasBody)
    #expect(framing([("Transfer-Encoding", "chunked")]).hasBody)
    #expect(!framing([("Upgrade", "h2c")]).isKeepAlive && !framing([], minor: 0).isKeepAlive)
  }

  @Test func labelsOfMetricsAreEscaped() {
    var text = MetricsText()
    text.begin("a_total", "counter", "Of A.")
    text.sample("a_total", "{b=\"\(MetricsText.label("x\"\\\n"))\"}", "1")
    #expect(text.text == "# HELP a_total Of A.\n# TYPE a_total counter\na_total{b=\"x\\\"\\\\\\n\"} 1\n")
  }
}
