/// The `Accept-Encoding` field (RFC 9110, section 12.5.3).
package enum AcceptEncoding {
  /// True when the coding or `*` is listed with a quality above 0. The coding's own quality overrides that of `*`; gzip
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
  /// Whether a list has a strong tag by weak comparison, as for `If-None-Match`. `*` is every tag.
  package static func matches(_ field: String, _ tag: String) -> Bool {
    tags(field).contains { $0 == "*" || $0 == tag || ($0.hasPrefix("W/") && $0.dropFirst(2) == tag) }
  }

  /// Whether a list has a strong tag by strong comparison, as for `If-Match`.
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

/// What a `Range` field asks of a file (RFC 9110, section 14.2).
package enum ByteRange: Equatable, Sendable {
  /// Also for several ranges, other units and unreadable fields, as the specification allows.
  case whole
  case part(Range<Int>)
  /// 416.
  case unsatisfiable

  package init(_ field: String?, byteCount: Int) {
    self = .whole
    guard let field, field.lowercased().hasPrefix("bytes=") else { return }
    let ends = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, !field.contains(",") else { return }
    // A number that is too large for Int lies beyond any file.
    func number(_ text: Substring) -> Int? { text.isDecimal ? Int(text) ?? Int.max : nil }
    switch (ends[0].isEmpty, ends[1].isEmpty) {
    case (false, true):
      guard let first = number(ends[0]) else { return }
      self = first < byteCount ? .part(first..<byteCount) : .unsatisfiable
    case (false, false):
      guard let first = number(ends[0]), let last = number(ends[1]), first <= last else { return }
      self = first < byteCount ? .part(first..<min(last, byteCount - 1) + 1) : .unsatisfiable
    case (true, false):
      guard let count = number(ends[1]) else { return }
      self = count > 0 && byteCount > 0 ? .part(max(0, byteCount - count)..<byteCount) : .unsatisfiable
    case (true, true): return
    }
  }

  /// The field that requests a range.
  package static func field(_ range: Range<Int>) -> String { "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }
}

/// The `Content-Range` field of a partial answer (RFC 9110, section 14.4).
package struct ContentRange: Hashable, Sendable {
  package let range: Range<Int>
  /// Bytes of the whole file; nil if the server does not say.
  package let total: Int?

  package init(_ range: Range<Int>, of total: Int) { (self.range, self.total) = (range, total) }

  /// Nil for anything but `bytes FIRST-LAST/TOTAL` with consistent numbers.
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

  package var text: String {
    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map(String.init) ?? "*")"
  }

  /// The field of 416.
  package static func unsatisfiable(of total: Int) -> String { "bytes */\(total)" }

  private static func number(_ text: Substring) -> Int? {
    guard text.isDecimal, let number = Int(text), number < 1 << 60 else { return nil }
    return number
  }
}

/// The `Retry-After` field (RFC 9110, section 10.2.3): seconds, or an HTTP date.
package enum RetryAfter {
  /// Longer waits are cut to this.
  private static let secondsMax = 366 * 86_400.0
  /// A larger number is not seconds but Apple's milliseconds since 1970: 1973 in one, 3,170 years in the other.
  private static let millisecondsMin = 100_000_000_000.0

  /// Seconds from `now`, which is milliseconds since 1970; nil for another text. More than a year is a year.
  ///
  /// - Parameter mayBeTime: whether a number may be milliseconds since 1970, as Apple's servers send it.
  package static func seconds(_ text: String, now: Int64, mayBeTime: Bool = false) -> Double? {
    if text.isDecimal {
      let number = Double(text) ?? .infinity
      let seconds = mayBeTime && number > millisecondsMin ? max(0, (number - Double(now)) / 1000) : number
      return min(seconds, secondsMax)
    }
    return HTTPDate.milliseconds(text).map { min(max(0, (Double($0) - Double(now)) / 1000), secondsMax) }
  }
}

extension StringProtocol {
  /// Whether the text is one or more of the digits 0 to 9, without a sign.
  var isDecimal: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }
}
