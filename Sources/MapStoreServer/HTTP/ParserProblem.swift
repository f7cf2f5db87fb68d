import HTTPTypes
import MapStoreWire
import NIOCore
import NIOHTTP1

/// Why a connection's last request cannot be read: it is no HTTP, or its head too large (431, RFC 6585, section 5). Hummingbird answers both with an empty 400.
struct ParserProblem {
  private let problem: Problem

  /// Nil for errors of other kinds.
  init?(_ error: any Error) {
    guard let error = error as? HTTPParserError else { return nil }
    problem = error == .headerOverflow ? .headTooLarge : .noHTTP
  }

  /// What is sent in place of Hummingbird's head; nil for another's, which answers a request before.
  func answer(to head: HTTPResponse) -> (head: HTTPResponse, body: ByteBuffer)? {
    guard head.status == .badRequest, head.headerFields[.contentLength] == "0",
      let bytes = try? WireJSON.encode(problem)
    else { return nil }
    var head = head
    head.status = HTTPResponse.Status(code: problem.status)
    head.headerFields[.contentLength] = String(bytes.count)
    head.headerFields[.contentType] = Problem.contentType
    head.headerFields[.cacheControl] = "no-store"
    return (head, ByteBuffer(bytes: bytes))
  }
}
