import TileIndex

/// An absolute URL of the schemes http and https (RFC 3986, RFC 9110 section 4.2), without user, password and fragment.
struct HTTPAddress: Hashable, Sendable {
  enum Scheme: String, Sendable { case http, https }

  var scheme: Scheme
  /// In lower case; an IPv6 address with its brackets.
  var host: String
  /// Nil for that of the scheme.
  var port: Int?
  /// Path and query; begins with a slash.
  var path: String

  /// What is wrong with a URL. Does not contain the URL, which may hold a key.
  struct InvalidURL: Error, CustomStringConvertible { let description: String }

  init(_ text: String) throws {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else {
      throw InvalidURL(description: "holds characters that must be percent-encoded in a URL")
    }
    guard let mark = text.firstRange(of: "://"), let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
    else { throw InvalidURL(description: "must begin with http:// or https://") }
    let rest = text[mark.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    let authority = rest[..<end]
    guard !authority.contains("@") else { throw InvalidURL(description: "must not hold a user or password") }
    guard !rest.contains("#") else { throw InvalidURL(description: "must not have a fragment (#)") }
    var host = authority
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let port = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(port) else {
        throw InvalidURL(description: "has a port that is no number from 1 to 65535")
      }
      self.port = port
      host = authority[..<colon]
    }
    guard !host.isEmpty else { throw InvalidURL(description: "names no host") }
    self.scheme = scheme
    self.host = host.lowercased()
    path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
  }

  var text: String { "\(scheme.rawValue)://\(host)\(port.map { ":\($0)" } ?? "")\(path)" }

  /// The target of a redirect (RFC 9110, section 10.2.2) if it may be followed: on the same host only, and never from
  /// https to http.
  func redirected(to location: String) -> HTTPAddress? {
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

/// A URL template for tiles with `{z}`, `{x}`, `{y}`; `{-y}` counts rows from the south.
struct URLTemplate: Hashable, Sendable {
  /// The address of the tile 0/0/0, for its scheme and host.
  let address: HTTPAddress
  private let text: String

  init(_ text: String) throws {
    self.text = text
    guard text.contains("{z}"), text.contains("{x}"), text.contains("{y}") || text.contains("{-y}") else {
      throw HTTPAddress.InvalidURL(description: "needs {z}, {x} and {y} (or {-y} for rows from the south)")
    }
    let example = Self.filled(text, TileID(unchecked: 0, 0, 0))
    guard !example.contains("{"), !example.contains("}") else {
      throw HTTPAddress.InvalidURL(description: "has another place than {z}, {x}, {y} and {-y}")
    }
    address = try HTTPAddress(example)
    // The numbers must not decide which host is asked.
    let host = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...].prefix { $0 != "/" && $0 != "?" }
    guard !host.contains("{") else {
      throw HTTPAddress.InvalidURL(description: "must not have places in the host's name")
    }
  }

  /// The URL of a tile.
  func address(_ tile: TileID) throws -> HTTPAddress { try HTTPAddress(Self.filled(text, tile)) }

  private static func filled(_ text: String, _ tile: TileID) -> String {
    var url = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      url += rest[..<open]
      rest = rest[open...]
      let values = [
        ("{z}", tile.zoom), ("{x}", tile.column), ("{y}", tile.row),
        ("{-y}", MBTilesRow.flipped(tile.row, matrixHeight: 1 << tile.zoom)),
      ]
      if let (place, value) = values.first(where: { rest.hasPrefix($0.0) }) {
        url += String(value)
        rest = rest.dropFirst(place.count)
      } else {
        url += "{"
        rest = rest.dropFirst()
      }
    }
    return url + rest
  }
}
