import NIOCore
import NIOHTTP1
import ServerSupport
import Support
import TileIndex

/// The parts of a request that the server uses. Small, since it is passed around for every tile: rare fields are looked
/// up when they are needed.
struct RequestFacts: HeaderFields, Sendable {
  enum Method: Sendable { case get, head, options, other }

  /// The header fields, in the form of the reader of the request.
  private enum Fields: Sendable {
    case raw(RawFields)
    case parsed(HTTPHeaders)
  }

  let method: Method
  /// 0 or 1.
  let minorVersion: Int
  /// False if the client wants the connection closed after the response.
  private(set) var isKeepAlive: Bool
  /// The request target as received: origin form, absolute form or `*` (RFC 9112, section 3.2).
  let target: String
  private let fields: Fields
  /// The number of Host fields; a valid request has one.
  private(set) var hostCount = 0
  /// True for a conditional request (If-None-Match or If-Modified-Since).
  private(set) var hasConditions = false
  private(set) var expectation = RequestFraming.Expectation.none
  /// True if a body follows the head.
  private(set) var hasBody = false
  /// True if the fast path read it, not NIO's parser.
  private(set) var isPlain = false

  init(_ head: HTTPRequestHead) {
    switch head.method {
    case .GET: method = .get
    case .HEAD: method = .head
    case .OPTIONS: method = .options
    default: method = .other
    }
    target = head.uri
    fields = .parsed(head.headers)
    let framing = RequestFraming(head)
    (minorVersion, isKeepAlive) = (framing.minorVersion, framing.isKeepAlive)
    (hostCount, hasConditions) = (framing.hostCount, framing.hasConditions)
    (expectation, hasBody) = (framing.expectation, framing.hasBody)
  }

  /// A GET of HTTP/1.1 with one Host field, without a body and without fields that affect the connection.
  ///
  /// - Parameters:
  ///   - target: a path, and perhaps a query.
  ///   - hasConditions: true for a conditional request.
  init(plainTarget target: String, fields: RawFields, hasConditions: Bool) {
    method = .get
    minorVersion = 1
    isKeepAlive = true
    self.target = target
    self.fields = .raw(fields)
    hostCount = 1
    self.hasConditions = hasConditions
    isPlain = true
  }

  /// The authority of an absolute target takes precedence over the Host field (RFC 9112, section 3.2.2).
  var host: String? {
    if target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") {
      return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }
    return values("host").first
  }
  /// Why its hosts make it a bad request.
  var hostFault: String? { RequestFraming.hostFault(count: hostCount, minorVersion: minorVersion, host: host) }
  var origin: String? { values("origin").first }
  var ifNoneMatch: String? { list("if-none-match") }
  var ifModifiedSince: String? { values("if-modified-since").first }
  /// True when the client takes gzip as a content coding.
  var acceptsGzip: Bool { accepts(.gzip) }
  /// True when the client takes a content coding.
  func accepts(_ packing: Gunzip.Packing) -> Bool {
    values("accept-encoding").contains { AcceptEncoding.accepts(packing.rawValue, $0) }
  }
  /// The value of Content-Length.
  var contentLength: Int? { values("content-length").first.flatMap { Int($0) } }
  var referer: String? { values("referer").first }
  var userAgent: String? { values("user-agent").first }
  /// True in a preflight of a page of another origin (Fetch standard).
  var isPreflight: Bool { !values("access-control-request-method").isEmpty }
  /// True in a preflight for access from a public page to a private network.
  var asksPrivateNetwork: Bool { !values("access-control-request-private-network").isEmpty }

  func values(_ name: StaticString) -> [String] {
    switch fields {
    case .raw(let fields): fields.values(name)
    case .parsed(let headers): headers["\(name)"]
    }
  }
}

extension RequestFacts {
  /// The same request as the last one of its connection: what follows it is not read.
  var last: RequestFacts {
    var last = self
    last.isKeepAlive = false
    return last
  }

  /// For responses to unreadable requests.
  static let unreadable = RequestFacts(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))
}

/// The header fields of a plain request as received, searched only when one is needed.
struct RawFields: Sendable {
  /// Lines that end with CRLF; checked by the fast path's reader.
  let lines: ByteBuffer

  /// The values of a field, in their order.
  ///
  /// - Parameter name: in lower case.
  /// - Complexity: O(bytes).
  func values(_ name: StaticString) -> [String] {
    lines.withUnsafeReadableBytes { bytes in
      name.withUTF8Buffer { name in
        var values: [String] = []
        var start = 0
        while start < bytes.count {
          let line = bytes[start...]
          let end = line.firstIndex(of: UInt8(ascii: "\r")) ?? bytes.count
          defer { start = end + 2 }
          guard start + name.count < end, bytes[start + name.count] == UInt8(ascii: ":"),
            zip(bytes[start..<(start + name.count)], name).allSatisfy({ $0 | 0x20 == $1 })
          else { continue }
          var value = bytes[(start + name.count + 1)..<end]
          while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
          while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
          values.append(String(decoding: value, as: UTF8.self))
        }
        return values
      }
    }
  }

  /// Bytes of a token (RFC 9110, section 5.6.2).
  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
      UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"),
      UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
