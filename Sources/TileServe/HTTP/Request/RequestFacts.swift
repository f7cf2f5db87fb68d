import NIOHTTP1

/// What a request says that matters to us.
struct RequestFacts: Sendable {
  enum Method: Sendable { case get, head, options, other }

  var method: Method
  /// The request target as it came: origin form, absolute form or `*` (RFC 9112, section 3.2).
  var target: String
  /// 0 or 1.
  var minorVersion: Int
  /// False when the client wants the connection closed after the answer.
  var isKeepAlive: Bool
  var hostCount = 0
  var host: String?
  var origin: String?
  var ifNoneMatch: String?
  var ifModifiedSince: String?
  /// True when the client takes gzip as a content coding.
  var acceptsGzip = false
  var forwardedProto: String?
  var forwardedHost: String?
  var forwardedPort: String?
  var forwardedPrefix: String?
  var forwardedFor: String?
  var referer: String?
  var userAgent: String?
  /// True in a preflight that asks to reach from a public page into a private network.
  var asksPrivateNetwork = false
  var isPreflight = false

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
    for (name, value) in head.headers { take(name, value) }
    // The authority of an absolute target counts, whatever the field says (RFC 9112, section 3.2.2).
    if target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") {
      host = String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }
  }

  /// Names are told apart by length first: most are of no interest.
  private mutating func take(_ name: String, _ value: String) {
    func isNamed(_ wanted: StaticString) -> Bool {
      // Field names are ASCII, in any case; | 0x20 makes letters small and leaves the hyphen alone.
      wanted.withUTF8Buffer { wanted in zip(name.utf8, wanted).allSatisfy { $0 | 0x20 == $1 } }
    }
    switch name.utf8.count {
    case 4 where isNamed("host"):
      host = value
      hostCount += 1
    case 6 where isNamed("origin"): origin = value
    case 7 where isNamed("referer"): referer = value
    // The parser reads nothing after a request for another protocol; we stay with ours and end the connection instead.
    case 7 where isNamed("upgrade"): isKeepAlive = false
    case 10 where isNamed("user-agent"): userAgent = value
    case 13 where isNamed("if-none-match"): ifNoneMatch = ifNoneMatch.map { $0 + ", " + value } ?? value
    case 15 where isNamed("accept-encoding"): acceptsGzip = acceptsGzip || Self.acceptsGzip(value)
    case 15 where isNamed("x-forwarded-for"): forwardedFor = value
    case 16 where isNamed("x-forwarded-host"): forwardedHost = value
    case 16 where isNamed("x-forwarded-port"): forwardedPort = value
    case 17 where isNamed("if-modified-since"): ifModifiedSince = value
    case 17 where isNamed("x-forwarded-proto"): forwardedProto = value
    case 18 where isNamed("x-forwarded-prefix"): forwardedPrefix = value
    case 29 where isNamed("access-control-request-method"): isPreflight = true
    case 38 where isNamed("access-control-request-private-network"): asksPrivateNetwork = true
    default: break
    }
  }

  /// True when gzip, x-gzip or * is listed with a quality above 0 (RFC 9110, section 12.5.3).
  static func acceptsGzip(_ value: String) -> Bool {
    var star = false
    for item in value.split(separator: ",") {
      let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      guard let coding = parts.first, ["gzip", "x-gzip", "*"].contains(coding) else { continue }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      if coding == "*" { star = quality > 0 } else { return quality > 0 }
    }
    return star
  }
}

extension RequestFacts {
  /// For answers to what could not be read as a request.
  static let unreadable = RequestFacts(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/"))
}
