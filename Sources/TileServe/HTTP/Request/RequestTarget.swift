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
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(hexadecimal), let low = rest.popFirst().flatMap(hexadecimal) else {
          throw ServeError(.badRequest, "a % in the URL is not followed by two hexadecimal digits")
        }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }), let text = String(validating: bytes, as: UTF8.self)
    else { throw ServeError(.badRequest, "the URL holds control characters or is not UTF-8") }
    return text
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
