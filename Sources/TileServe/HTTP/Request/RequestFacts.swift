import NIOHTTP1

/// What a request says that matters to us. Small, since it is handed about for every tile: fields that few requests have are looked up when they are needed.
struct RequestFacts: Sendable {
  enum Method: Sendable { case get, head, options, other }

  let method: Method
  /// 0 or 1.
  let minorVersion: Int
  /// False when the client wants the connection closed after the answer.
  private(set) var isKeepAlive: Bool
  /// The request target as it came: origin form, absolute form or `*` (RFC 9112, section 3.2).
  let target: String
  private let headers: HTTPHeaders
  /// How often there is a Host field; once is right.
  private(set) var hostCount = 0
  /// True when the client takes gzip as a content coding.
  private(set) var acceptsGzip = false
  /// True when the client has a copy and asks whether it is still good.
  private(set) var hasConditions = false

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
    headers = head.headers
    for (name, value) in headers {
      // Names are told apart by length first: most are of no interest.
      switch name.utf8.count {
      case 4 where Self.isSame(name, "host"): hostCount += 1
      // The parser reads nothing after a request for another protocol; we stay with ours and end the connection instead.
      case 7 where Self.isSame(name, "upgrade"): isKeepAlive = false
      case 13 where Self.isSame(name, "if-none-match"): hasConditions = true
      case 17 where Self.isSame(name, "if-modified-since"): hasConditions = true
      case 15 where Self.isSame(name, "accept-encoding"): acceptsGzip = acceptsGzip || Self.acceptsGzip(value)
      default: break
      }
    }
  }

  /// The authority of an absolute target counts, whatever the field says (RFC 9112, section 3.2.2).
  var host: String? {
    if target.utf8.first != UInt8(ascii: "/"), let scheme = target.firstRange(of: "://") {
      return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }
    return headers.first(name: "host")
  }
  var origin: String? { headers.first(name: "origin") }
  /// Several fields are one list (RFC 9110, section 5.3).
  var ifNoneMatch: String? {
    let values = headers["if-none-match"]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
  var ifModifiedSince: String? { headers.first(name: "if-modified-since") }
  var forwardedProto: String? { headers.first(name: "x-forwarded-proto") }
  var forwardedHost: String? { headers.first(name: "x-forwarded-host") }
  var forwardedPort: String? { headers.first(name: "x-forwarded-port") }
  var forwardedPrefix: String? { headers.first(name: "x-forwarded-prefix") }
  var referer: String? { headers.first(name: "referer") }
  var userAgent: String? { headers.first(name: "user-agent") }
  /// True in a preflight of a page of another origin (Fetch standard).
  var isPreflight: Bool { headers.contains(name: "access-control-request-method") }
  /// True in a preflight that asks to reach from a public page into a private network.
  var asksPrivateNetwork: Bool { headers.contains(name: "access-control-request-private-network") }

  /// Field names are ASCII, in any case; | 0x20 makes letters small and leaves the hyphen alone.
  private static func isSame(_ name: String, _ wanted: StaticString) -> Bool {
    wanted.withUTF8Buffer { wanted in zip(name.utf8, wanted).allSatisfy { $0 | 0x20 == $1 } }
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
