/// An absolute URL of the schemes http and https (RFC 3986, RFC 9110 section 4.2), without user, password and fragment.
///
/// Every URL from a server, a file or a person becomes one before it reaches an HTTP library: these trap on ports
/// beyond 65535 and on empty hosts.
package struct HTTPAddress: Hashable, Sendable {
  package enum Scheme: String, Sendable { case http, https }

  package private(set) var scheme: Scheme
  /// In lower case; an IPv6 address with its brackets.
  package private(set) var host: String
  /// Nil for that of the scheme.
  package private(set) var port: Int?
  /// Path and query; begins with a slash.
  package private(set) var path: String

  /// What is wrong with a URL. Does not contain the URL, which may hold a key.
  package struct InvalidURL: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
  }

  package init(_ text: String) throws(InvalidURL) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else {
      throw InvalidURL(description: "holds characters that must be percent-encoded in a URL")
    }
    guard let mark = text.firstRange(of: "://"), let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
    else { throw InvalidURL(description: "must begin with http:// or https://") }
    let rest = text[mark.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    guard !rest[..<end].contains("@") else { throw InvalidURL(description: "must not hold a user or password") }
    guard !rest.contains("#") else { throw InvalidURL(description: "must not have a fragment (#)") }
    let (host, port) = try Self.authority(rest[..<end])
    (self.scheme, self.host, self.port) = (scheme, host.lowercased(), port)
    path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
  }

  /// Whether a text is a host with or without a port, as in a `Host` field.
  package static func isAuthority(_ text: String) -> Bool { (try? authority(text[...])) != nil }

  private static func authority(_ text: Substring) throws(InvalidURL) -> (host: String, port: Int?) {
    var (host, port) = (text, Int?.none)
    if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
      let digits = text[text.index(after: colon)...]
      guard digits.isDecimal, let number = Int(digits), (1...65_535).contains(number) else {
        throw InvalidURL(description: "has a port that is no number from 1 to 65535")
      }
      (host, port) = (text[..<colon], number)
    }
    guard !host.isEmpty else { throw InvalidURL(description: "names no host") }
    guard isHost(host) else { throw InvalidURL(description: "names an invalid host") }
    return (String(host), port)
  }

  /// A name of the DNS, an IPv4 address, or an IPv6 address in brackets.
  private static func isHost(_ text: Substring) -> Bool {
    if text.hasPrefix("["), text.hasSuffix("]") { return ClientAddress.isIPv6(String(text.dropFirst().dropLast())) }
    return text.utf8.count <= 253
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: ".-_".utf8.contains(byte)
        }
      }
  }

  package var text: String { "\(scheme.rawValue)://\(host)\(port.map { ":\($0)" } ?? "")\(path)" }

  /// The target of a redirect (RFC 9110, section 10.2.2) if it may be followed: on the same host only, and never from
  /// https to http.
  package func redirected(to location: String) -> HTTPAddress? {
    var target = location
    if location.hasPrefix("//") {
      target = "\(scheme.rawValue):\(location)"
    } else if location.hasPrefix("/") {
      var same = self
      same.path = location
      target = same.text
    } else if !location.contains("://") {
      return nil
    }
    guard let address = try? HTTPAddress(String(target.prefix { $0 != "#" })), address.host == host,
      address.scheme == .https || scheme == .http
    else { return nil }
    // Another port of the host is another server, except for the step from http to https.
    guard address.port == port || address.scheme != scheme else { return nil }
    return address
  }
}
