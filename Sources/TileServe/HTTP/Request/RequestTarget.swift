import Support

/// A request target taken apart: path segments, percent-decoded, and the query.
struct RequestTarget {
  /// Decoded; without the slashes. A path that ends with a slash ends with an empty segment.
  var segments: [String]
  /// Names in small letters, decoded; the first of a repeated name counts.
  var query: [String: String]

  /// - Parameter target: origin form, without the base path.
  /// - Throws: ``ServeError`` with `.badRequest` for what is no valid percent-encoding of UTF-8.
  init(_ target: Substring) throws {
    let target = target.prefix { $0 != "#" }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let path = parts.first, path.hasPrefix("/") else {
      throw ServeError(.badRequest, "the path does not begin with a slash")
    }
    segments = try path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      try Self.decoded($0, plusIsSpace: false)
    }
    query = [:]
    guard parts.count > 1 else { return }
    for pair in parts[1].split(separator: "&").prefix(64) {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try Self.decoded(halves[0], plusIsSpace: true).lowercased()
      let value = try halves.count > 1 ? Self.decoded(halves[1], plusIsSpace: true) : ""
      if query[name] == nil { query[name] = value }
    }
  }

  /// Undoes percent-encoding (RFC 3986, section 2.1).
  static func decoded(_ text: Substring, plusIsSpace: Bool) throws -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") || $0 < 0x20 }) else {
      return String(text)
    }
    guard let bytes = PercentEncoding.decode(text.utf8, plusIsSpace: plusIsSpace) else {
      throw ServeError(.badRequest, "a % in the URL is not followed by two hexadecimal digits")
    }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }), let text = String(validating: bytes, as: UTF8.self)
    else { throw ServeError(.badRequest, "the URL holds control characters or is not UTF-8") }
    return text
  }
}
