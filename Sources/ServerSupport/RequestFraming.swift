package import NIOHTTP1
import Support

/// What the head of a request says of its connection and body. NIO's parser leaves it to the server to act on that.
package struct RequestFraming: Sendable {
  /// The Expect field (RFC 9110, section 10.1.1).
  package enum Expectation: Sendable {
    case none
    /// 100 Continue.
    case proceed
    /// An undefined expectation.
    case unknown
  }

  /// 0 or 1.
  package let minorVersion: Int
  /// False if the client wants the connection closed after the response.
  package private(set) var isKeepAlive: Bool
  /// The number of Host fields; a valid request has one.
  package private(set) var hostCount = 0
  package private(set) var expectation = Expectation.none
  /// True if a body follows the head.
  package private(set) var hasBody = false
  /// True for a conditional request (If-None-Match or If-Modified-Since).
  package private(set) var hasConditions = false

  package init(_ head: HTTPRequestHead) {
    minorVersion = head.version.minor
    isKeepAlive = head.isKeepAlive
    for (name, value) in head.headers {
      // Names are compared by length first: most are of no interest.
      switch name.utf8.count {
      case 4 where Self.isSame(name, "host"): hostCount += 1
      // HTTP/1.0 has no 100 Continue.
      case 6 where minorVersion > 0 && Self.isSame(name, "expect"):
        expectation = expectation != .unknown && Self.isSame(value, "100-continue") ? .proceed : .unknown
      // The parser stops after an Upgrade request. The server ignores the field and closes the connection.
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

  /// What is wrong with the hosts of a request (RFC 9112, section 3.2): the answer is 400.
  ///
  /// - Parameter host: of the target or the field. An empty one is that of a target without an authority.
  package static func hostFault(count: Int, minorVersion: Int, host: String?) -> String? {
    if minorVersion > 0, count != 1 { return "a request must have one Host field" }
    let isUsable = host.map { $0.isEmpty || HTTPAddress.isAuthority($0) } ?? true
    return isUsable ? nil : "the Host field is not a host with or without a port"
  }

  /// Field names are ASCII, in any case; | 0x20 makes letters lower case and does not change hyphen and digits.
  private static func isSame(_ name: String, _ wanted: StaticString) -> Bool {
    name.utf8.count == wanted.utf8CodeUnitCount
      && wanted.withUTF8Buffer { wanted in zip(name.utf8, wanted).allSatisfy { $0 | 0x20 == $1 } }
  }
}
