/// A version of an app, compared part by part as numbers: 1.10 is later than 1.9, and 2.0 equals 2.
struct AppVersion: Comparable, Hashable {
  private let parts: [Int64]

  /// Parts that are not numbers, as in `3.0b2`, count by their first digits.
  init(_ text: String) {
    var parts = text.split(separator: ".", omittingEmptySubsequences: false).map { part in
      Int64(part.prefix { ("0"..."9").contains($0) }) ?? 0
    }
    while parts.last == 0 { parts.removeLast() }
    self.parts = parts
  }

  static func < (a: Self, b: Self) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }
}

/// A product that those have who paid for the app before a version.
struct FormerlyPaid: Sendable, Hashable {
  var product: String
  /// As written.
  var version: String
  var before: AppVersion { AppVersion(version) }

  /// Reads `region.us:3.0, region.fr:2.1`; nil for another text.
  static func list(_ text: String) -> [FormerlyPaid]? {
    var list: [FormerlyPaid] = []
    for item in text.split(separator: ",") {
      let parts = item.split(separator: ":", omittingEmptySubsequences: false).map { String($0.trimmingWhitespace) }
      guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains("/"),
        parts[1].utf8.first.map({ (0x30...0x39).contains($0) }) == true
      else { return nil }
      list.append(FormerlyPaid(product: parts[0], version: parts[1]))
    }
    return list
  }

  static func text(_ list: [FormerlyPaid]) -> String {
    list.map { "\($0.product):\($0.version)" }.joined(separator: ",")
  }
}
