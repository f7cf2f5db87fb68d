import ServerSupport
import Support

/// The base URL that clients see, the host names that are allowed, and the proxies that are trusted.
struct BaseURLResolver: Sendable {
  let basePath: String
  private let publicAddress: ServiceAddress?
  private let boundOrigin: String
  private let allowedHosts: Set<String>
  private let publicHost: String?
  private let proxies: TrustedProxies
  /// True when it listens on loopback alone, where it is reached by an address or as `localhost`.
  private let isReachedFromHereAlone: Bool

  init(_ options: TileServerOptions, boundOrigin: String) {
    basePath = Self.trimmed(options.basePath)
    self.boundOrigin = boundOrigin
    allowedHosts = Set(options.allowedHosts.map { $0.lowercased() })
    proxies = TrustedProxies(options.trustedProxies, hasThisMachine: true)
    isReachedFromHereAlone = options.isReachedFromHereAlone
    publicAddress = options.publicURL.map { url in
      // Everything after the host is the base path as clients see it.
      let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
      let slash = url[start...].firstIndex(of: "/") ?? url.endIndex
      let path = Self.trimmed(String(url[slash...]))
      return ServiceAddress(
        origin: String(url[..<slash]), basePath: path.isEmpty ? Self.trimmed(options.basePath) : path)
    }
    publicHost = (try? options.publicURL.map { try HTTPAddress($0) })?.host
  }

  /// A request target without scheme, host and base path. A proxy may have removed the base path already.
  func local(_ target: String) -> Substring {
    var rest = target[...]
    if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
      rest = rest[scheme.upperBound...].drop { $0 != "/" }
      if rest.isEmpty { rest = "/" }
    }
    guard !basePath.isEmpty, rest.hasPrefix(basePath) else { return rest }
    let after = rest.dropFirst(basePath.count)
    if after.isEmpty { return "/" }
    return after.hasPrefix("/") ? after : rest
  }

  /// The tile that a request target of the usual form names; nil for all others.
  func tile(_ target: String) -> TileAddress? {
    var target = target
    return target.withUTF8 { bytes in
      var path = bytes
      // A query does not change a tile: clients add it to bypass caches.
      if let end = path.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
        path = UnsafeBufferPointer(rebasing: path[..<end])
      }
      if !basePath.isEmpty, path.starts(with: basePath.utf8), path.count > basePath.utf8.count,
        path[basePath.utf8.count] == UInt8(ascii: "/")
      {
        path = UnsafeBufferPointer(rebasing: path[basePath.utf8.count...])
      }
      return TileAddress(path: path)
    }
  }

  /// The base URL by which the client of a request reaches the server.
  func address(_ facts: RequestFacts, isTrusted: Bool) -> ServiceAddress {
    if let publicAddress { return publicAddress }
    var origin = boundOrigin
    let scheme = isTrusted ? Self.first(facts.forwardedProto).flatMap(Self.scheme) : nil
    if let host = (isTrusted ? Self.first(facts.forwardedHost) : nil) ?? facts.host, HTTPAddress.isAuthority(host) {
      let scheme = scheme ?? (boundOrigin.hasPrefix("https:") ? "https" : "http")
      let port = isTrusted ? Self.first(facts.forwardedPort).flatMap { Self.port($0, scheme, host) } : nil
      origin = "\(scheme)://\(host)\(port ?? "")"
    }
    let prefix = isTrusted ? Self.first(facts.forwardedPrefix).flatMap(Self.prefix) : nil
    return ServiceAddress(origin: origin, basePath: prefix ?? basePath)
  }

  /// False for hosts that are not in `--allowed-hosts`. Where only programs of this machine can connect, addresses and
  /// `localhost` are allowed beside that list, and without one nothing else is: a page of another origin may have given
  /// its name this machine's address (DNS rebinding).
  func isAllowed(_ facts: RequestFacts, isTrusted: Bool) -> Bool {
    let host = facts.host ?? ""
    guard !allowedHosts.isEmpty else { return !isReachedFromHereAlone || host.isEmpty || isOwn(host) }
    // Both are checked: a page that uses DNS rebinding can add an X-Forwarded-Host, but not change its Host.
    let named = [host, isTrusted ? Self.first(facts.forwardedHost) : nil].compactMap(\.self)
    return named.allSatisfy { name in
      allowedHosts.contains(Self.withoutPort(name).lowercased()) || isReachedFromHereAlone && isOwn(name)
    }
  }

  /// The client's address that trusted proxies report; nil without one.
  func client(_ facts: RequestFacts, isTrusted: Bool) -> String? {
    isTrusted ? proxies.client(of: facts)?.text : nil
  }

  /// An address, `localhost`, or the host of ``TileServerOptions/publicURL``.
  private func isOwn(_ host: String) -> Bool {
    let name = Self.withoutPort(host).lowercased()
    let address = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
    return name == "localhost" || ClientAddress.isAddress(address) || name == publicHost
  }

  /// The first element of a list, from the proxy nearest to the client.
  private static func first(_ field: String?) -> String? {
    guard let first = field?.split(separator: ",").first else { return nil }
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    // Spaces within make it no host; without them it would be another one.
    var text = first.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return text.isEmpty ? nil : String(text)
  }

  /// `:8443`, if the host has no port itself and the scheme's default differs.
  private static func port(_ text: String, _ scheme: String, _ host: String) -> String? {
    guard let port = UInt16(text), port != 0, port != (scheme == "https" ? 443 : 80), withoutPort(host) == host else {
      return nil
    }
    return ":\(port)"
  }

  private static func scheme(_ text: String) -> String? { ["http", "https"].first { $0 == text.lowercased() } }

  /// A path without special characters, because it is written into pages.
  private static func prefix(_ text: String) -> String? {
    let text = trimmed(text)
    let plain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "/-._~".utf8.contains(byte)
      }
    }
    return plain && !text.contains("//") ? text : nil
  }

  private static func withoutPort(_ host: String) -> String {
    // An address in brackets contains colons (RFC 3986, section 3.2.2).
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
    return String(host.prefix { $0 != ":" })
  }

  /// With a slash at the beginning and none at the end; empty for none.
  private static func trimmed(_ path: String) -> String {
    let parts = path.split(separator: "/")
    return parts.isEmpty ? "" : "/" + parts.joined(separator: "/")
  }
}
