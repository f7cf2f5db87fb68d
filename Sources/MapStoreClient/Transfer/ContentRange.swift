/// The `Content-Range` field of a partial answer (RFC 9110, section 14.4).
struct ContentRange: Hashable {
  let range: Range<Int>
  /// Of the whole file; nil where the server does not say.
  let total: Int?

  /// Nil for anything but `bytes FIRST-LAST/TOTAL` with numbers that fit together.
  init?(_ text: String) {
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
