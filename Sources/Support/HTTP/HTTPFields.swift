/// The `Accept-Encoding` field (RFC 9110, section 12.5.3).
package enum AcceptEncoding {
  /// True when the coding or `*` is listed with a quality above 0. The coding's own weight counts before that of `*`; gzip
  /// may also be called x-gzip.
  package static func accepts(_ coding: String, _ field: String) -> Bool {
    var star = false
    for item in field.split(separator: ",") {
      let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      guard let name = parts.first, name == coding || name == "*" || coding == "gzip" && name == "x-gzip" else {
        continue
      }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      if name == "*" { star = quality > 0 } else { return quality > 0 }
    }
    return star
  }
}

/// Lists of entity tags: `If-None-Match` and `If-Match` (RFC 9110, sections 13.1.1 and 13.1.2).
package enum EntityTagList {
  /// Whether a list has a strong tag, compared weakly as `If-None-Match` is. `*` is every tag.
  package static func matches(_ field: String, _ tag: String) -> Bool {
    tags(field).contains { $0 == "*" || $0 == tag || ($0.hasPrefix("W/") && $0.dropFirst(2) == tag) }
  }

  /// The same for `If-Match`: what is weak is never the same bytes.
  package static func matchesStrongly(_ field: String, _ tag: String) -> Bool {
    tags(field).contains { $0 == "*" || $0 == tag }
  }

  private static func tags(_ field: String) -> [Substring] {
    field.split(separator: ",").map { item in
      var item = item.drop { $0 == " " || $0 == "\t" }
      while item.last == " " || item.last == "\t" { item.removeLast() }
      return item
    }
  }
}

/// The `Content-Range` field of a partial answer (RFC 9110, section 14.4).
package struct ContentRange: Hashable {
  package let range: Range<Int>
  /// Of the whole file; nil where the server does not say.
  package let total: Int?

  /// Nil for anything but `bytes FIRST-LAST/TOTAL` with numbers that fit together.
  package init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let numbers = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0) }
    guard numbers.count == 2, let first = numbers[0], let last = numbers[1], first <= last else { return nil }
    let total = Self.number(parts[1])
    guard parts[1] == "*" || total.map({ $0 > last }) ?? false else { return nil }
    (range, self.total) = (first..<(last + 1), total)
  }

  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(text), number < 1 << 60
    else { return nil }
    return number
  }
}
