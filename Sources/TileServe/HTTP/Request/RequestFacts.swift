import NIOHTTP1
import Support
import TileIndex

/// What a request says that matters to us. Small, since it is handed about for every tile: fields that few requests have are looked up when they are needed.
struct RequestFacts: Sendable {
  enum Method: Sendable { case get, head, options, other }

  /// What a client waits for before it sends its body (RFC 9110, section 10.1.1).
  enum Expectation: Sendable {
    case none
    /// 100 Continue.
    case proceed
    /// Something that nobody has defined.
    case unknown
  }

  /// The header fields, as whoever read the request left them.
  private enum Fields: Sendable {
    case raw(RawFields)
    case parsed(HTTPHeaders)
  }

  let method: Method
  /// 0 or 1.
  let minorVersion: Int
  /// False when the client wants the connection closed after the answer.
  private(set) var isKeepAlive: Bool
  /// The request target as it came: origin form, absolute form or `*` (RFC 9112, section 3.2).
  let target: String
  private let fields: Fields
  /// How often there is a Host field; once is right.
  private(set) var hostCount = 0
  /// True when the client has a copy and asks whether it is still good.
  private(set) var hasConditions = false
  private(set) var expectation = Expectation.none
  /// True when a body follows the head.
  private(set) var hasBody = false
  /// True when ``PlainRequest`` read it.
  private(set) var isPlain = false

  init(_ head: HTTPRequestHead) {
    switch head.method {
    case .GET: method = .get
    case .HEAD: method = .head
    case .OPTIONS: method = .options
    default: method = .other
    }
    target = head.uri
    minorVersion = head.version.minor
    isKeepAlive = head.isKeepAlive
    fields = .parsed(head.headers)
    for (name, value) in head.headers {
      // Names are told apart by length first: most are of no interest.
      switch name.utf8.count {
      case 4 where Self.isSame(name, "host"): hostCount += 1
      // Clients of HTTP/1.0 cannot be told to go on.
      case 6 where minorVersion > 0 && Self.isSame(name, "expect"):
        expectation = expectation != .unknown && Self.isSame(value, "100-continue") ? .proceed : .unknown
      // The parser reads nothing after a request for another protocol; we stay with ours and end the connection instead.
      case 7 where Self.isSame(name, "upgrade"): isKeepAlive = false
      case 13 where Self.isSame(name, "if-none-match"): hasConditions = true
      case 14 where Self.isSame(name, "content-length"):
        if value != "0" { hasBody = true }
      case 17 where Self.isSame(name, "if-modified-since"): hasConditions = true
      case 17 where Self.isSame(name, "transfer-encoding"): hasBody = true
      default: break
      }
    }
  }

  init(_ request: PlainRequest) {
    method = .get
    minorVersion = 1
    isKeepAlive = true
    target = request.target
    fields = .raw(request.fields)
    hostCount = 1
    hasConditions = request.hasConditions
    isPlain = true
  }

  /// The authority of an absolute target counts, whatever the field says (RFC 9112, section 3.2.2).
  var host: String? {
    if target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") {
      return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }
    return values("host").first
  }
  var origin: String? { values("origin").first }
  var ifNoneMatch: String? { list("if-none-match") }
  var ifModifiedSince: String? { values("if-modified-since").first }
  /// True when the client takes gzip as a content coding.
  var acceptsGzip: Bool { accepts(.gzip) }
  /// True when the client takes a content coding.
  func accepts(_ packing: Gunzip.Packing) -> Bool {
    values("accept-encoding").contains { AcceptEncoding.accepts(packing.rawValue, $0) }
  }
  /// The bytes of the body where the head says it.
  var contentLength: Int? { values("content-length").first.flatMap { Int($0) } }
  var forwardedProto: String? { values("x-forwarded-proto").first }
  var forwardedHost: String? { values("x-forwarded-host").first }
  var forwardedFor: String? { list("x-forwarded-for") }
  var forwardedPort: String? { values("x-forwarded-port").first }
  var forwardedPrefix: String? { values("x-forwarded-prefix").first }
  var referer: String? { values("referer").first }
  var userAgent: String? { values("user-agent").first }
  /// True in a preflight of a page of another origin (Fetch standard).
  var isPreflight: Bool { !values("access-control-request-method").isEmpty }
  /// True in a preflight that asks to reach from a public page into a private network.
  var asksPrivateNetwork: Bool { !values("access-control-request-private-network").isEmpty }

  /// The values of a field, by its name in small letters.
  private func values(_ name: StaticString) -> [String] {
    switch fields {
    case .raw(let fields): fields.values(name)
    case .parsed(let headers): headers["\(name)"]
    }
  }

  /// Several fields as the one list that they are (RFC 9110, section 5.3).
  private func list(_ name: StaticString) -> String? {
    let values = values(name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Field names are ASCII, in any case; | 0x20 makes letters small and leaves hyphen and digits alone.
  private static func isSame(_ name: String, _ wanted: StaticString) -> Bool {
    name.utf8.count == wanted.utf8CodeUnitCount
      && wanted.withUTF8Buffer { wanted in zip(name.utf8, wanted).allSatisfy { $0 | 0x20 == $1 } }
  }
}

extension RequestFacts {
  /// The same request as the last of its connection: what follows it is not read.
  var last: RequestFacts {
    var last = self
    last.isKeepAlive = false
    return last
  }

  /// For answers to what could not be read as a request.
  static let unreadable = RequestFacts(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))
}
