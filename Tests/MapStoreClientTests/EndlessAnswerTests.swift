import MapStoreWire
import TestSupport
import Testing

@testable import MapStoreClient

/// Answers that never end, or that are larger than any that makes sense: a call ends all the same, over both kinds of
/// connections.
@Suite(.ownThread) struct EndlessAnswerTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

  /// Each would hold a call for ever that counts the time between two bytes only.
  static let drips: [(String, RawServer.Answer)] = [
    ("nothing", .init()),
    ("100 Continue", .init(rest: "HTTP/1.1 100 Continue\r\n\r\n")),
    ("103 Early Hints", .init(rest: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")),
    ("a status line", .init(start: "HTTP/1.1 200 O", rest: "K")),
    ("a field", .init(start: head + "X-Long: ", rest: "a")),
    ("fields", .init(start: head, rest: "X-Again: a\r\n")),
    ("spaces before a value", .init(start: head + "Content-Length: 100000\r\n\r\n{", rest: " ")),
    ("chunks of a byte", .init(start: head + "Transfer-Encoding: chunked\r\n\r\n", rest: "1\r\n \r\n")),
    ("the extension of a chunk", .init(start: head + "Transfer-Encoding: chunked\r\n\r\n1;a=", rest: "b")),
    ("a body without a length", .init(start: "HTTP/1.0 200 OK\r\n\r\n{", rest: " ")),
    ("a trailer", .init(start: head + "Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\nX: ", rest: "a")),
    ("the page of an error", .init(start: "HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\n", rest: "a")),
  ]

  private func retry() -> RetryRule {
    var retry = Device.retry()
    retry.callMax = 0.8
    return retry
  }

  @Test(arguments: drips, Connections.allCases)
  func aCallHasADeadline(_ drip: (name: String, answer: RawServer.Answer), over: Connections) async throws {
    let server = try RawServer { [answer = drip.answer] _ in answer }
    defer { server.stop() }
    let client = try over.client(server.address, StoreSession(), retry())
    await #expect("\(drip.name)") { try await client.catalogue() } throws: {
      [.unreachable, .damaged].contains(($0 as? MapStoreError)?.code)
    }
    // Signing up must not be repeated, and the person is told why.
    await #expect("\(drip.name)") {
      try await client.register(Credentials(login: "a", password: "password"))
    } throws: { [.unreachable, .damaged].contains(($0 as? MapStoreError)?.code) }
    #expect(server.requests.withLock { $0.count { $0 == "POST /v1/accounts" } } == 1)
    await client.shutdown()
  }

  /// A slow network that brings a whole answer is not cut off: 8 kB are worth a second. The first bytes have 4 s, which
  /// a busy machine takes at most.
  @Test(arguments: Connections.allCases) func aLargeAnswerMayTakeLonger(over: Connections) async throws {
    let (count, piece) = (110, String(repeating: " ", count: 1024))
    let server = try RawServer { _ in
      let body = #"{"id":"a","appAccountToken":"t"}"#
      return .init(
        start: Self.head + "Content-Length: \(body.utf8.count + count * piece.utf8.count)\r\n\r\n" + body, rest: piece,
        everyMilliseconds: 40, count: count)
    }
    defer { server.stop() }
    let session = StoreSession(SessionDetails(token: "t", expiresAt: .max, account: Device.account))
    var retry = Device.retry()
    retry.callMax = 4
    let client = try over.client(server.address, session, retry)
    #expect(try await client.account().id == "a")
    await client.shutdown()
  }

  /// By its length, before anything is read; without one, as soon as that much is there.
  @Test(
    arguments: [
      RawServer.Answer(start: head + "Content-Length: 57000000\r\n\r\n{"),
      RawServer.Answer(
        start: head + "Transfer-Encoding: chunked\r\n\r\n",
        rest: "40000\r\n\(String(repeating: " ", count: 0x40000))\r\n", everyMilliseconds: 1),
    ], Connections.allCases)
  func anAnswerHasALimit(_ answer: RawServer.Answer, over: Connections) async throws {
    let server = try RawServer { _ in answer }
    defer { server.stop() }
    let client = try over.client(server.address)
    await #expect { try await client.catalogue() } throws: {
      let error = $0 as? MapStoreError
      return error?.code == .damaged && error?.message.contains("larger than 16 MiB") == true
    }
    await client.shutdown()
  }

  /// A confused server's library, as a device's process meets it: 500,000 regions in 57 MB are refused by the length,
  /// 16 MiB of them are not held, and the largest library that is read takes a bounded multiple of its size.
  @Test(arguments: [(500_000, false), (500_000, true), (140_000, false)])
  func aLibraryTakesBoundedMemory(regions: Int, isChunked: Bool) async throws {
    let body =
      #"{"regions":["#
      + (0..<regions).map { number in
        let digits = String(number)
        let id = "r" + String(repeating: "0", count: 7 - digits.count) + digits
        return
          #"{"id":"\#(id)","productId":"p","title":"t","status":"forSale","isForSale":true,"edition":"1","bytes":1}"#
      }.joined(separator: ",") + "]}"
    let head = Self.head + (isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(body.utf8.count)\r\n")
    let server = try RawServer { request in
      guard request.hasSuffix("/v1/library") else {
        return .init(start: "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
      }
      let chunk = isChunked ? "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n" : body
      return .init(start: head + "\r\n" + chunk)
    }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let run = try await onThread {
      try Command(built: "CatalogProbe").run([folder.path, server.address, "token", "library"], timeout: 300)
    }
    #expect(server.requests.withLock { $0.contains { $0.hasSuffix("/v1/library") } })
    if regions == 500_000 {
      #expect(run.status == 1 && run.stdout.contains("larger than 16 MiB"), "\(run)")
    } else {
      #expect(run.status == 0 && run.stdout.contains("\(regions) regions"), "\(run)")
    }
    // Values take several times the bytes of their message.
    #expect(run.peakBytes < (regions == 500_000 ? 8 : 20) * StoreClient.answerBytesMax, "\(run.peakBytes)")
  }

  /// As fast as the client reads, without an end.
  @Test(
    arguments: [
      RawServer.Answer(start: head, rest: String(repeating: "X-Again: a\r\n", count: 1000), everyMilliseconds: 1),
      RawServer.Answer(start: head + "X-Long: ", rest: String(repeating: "a", count: 10_000), everyMilliseconds: 1),
      RawServer.Answer(rest: String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 500), everyMilliseconds: 1),
      RawServer.Answer(start: "HTTP/1.1 200 ", rest: String(repeating: "a", count: 10_000), everyMilliseconds: 1),
      RawServer.Answer(
        start: head + "Transfer-Encoding: chunked\r\n\r\n1;", rest: String(repeating: "a", count: 10_000),
        everyMilliseconds: 1),
    ], Connections.allCases)
  func aFloodEndsToo(_ answer: RawServer.Answer, over: Connections) async throws {
    let server = try RawServer { _ in answer }
    defer { server.stop() }
    let client = try over.client(server.address, StoreSession(), retry())
    await #expect(throws: MapStoreError.self) { try await client.catalogue() }
    await client.shutdown()
  }

  /// What is no answer, one too many, or one that HTTP has no place for.
  @Test(
    arguments: [
      "", "\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 0 Zero\r\n\r\n", "HTTP/1.1 99 Small\r\n\r\n",
      "HTTP/1.1 999 Large\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 1000 Larger\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nx",
      "HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nabcde", "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\n: empty\r\n\u{0}: nul\r\n\r\n{}", "HTTP/3.7 200 OK\r\n\r\n{}", "ICY 200 OK\r\n\r\n{}",
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:65536/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: //[]/\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 503 No\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate \u{1}\r\nContent-Length: 0\r\n\r\n",
    ], Connections.allCases)
  func whatIsNoAnswerIsAnError(_ text: String, over: Connections) async throws {
    // Foundation for Linux ends the process when a field has no name.
    guard over == .ofTheClient || !text.contains("\r\n: ") else { return }
    let server = try RawServer { _ in .init(start: text, closes: true) }
    defer { server.stop() }
    var retry = retry()
    retry.attemptsMax = 2
    let client = try over.client(server.address, StoreSession(), retry)
    await #expect(throws: MapStoreError.self) { try await client.catalogue() }
    await client.shutdown()
  }
}
