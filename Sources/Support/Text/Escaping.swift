import LibC

/// Percent-encoding of parts of URLs (RFC 3986, section 2.1).
@usableFromInline
package enum PercentEncoding {
  /// A path segment or query value: unreserved characters stay, the bytes of all others become `%XX`.
  package static func encode(_ text: String) -> String { encode(text.utf8) { _ in false } }

  /// A path segment in which commas stay, which separate the layers of a composite.
  package static func segment(_ text: String) -> String { encode(text.utf8) { $0 == UInt8(ascii: ",") } }

  /// A path, in which slashes stay.
  package static func path(_ text: String) -> String { path(text.utf8) }

  /// The path of a file, in the bytes that the system knows it by.
  package static func path(_ bytes: some Collection<UInt8>) -> String { encode(bytes) { $0 == UInt8(ascii: "/") } }

  /// The bytes that a text stands for; nil where two hexadecimal digits do not follow a `%`.
  ///
  /// - Parameter plusIsSpace: whether `+` is a space, as in the queries of forms.
  @inlinable
  package static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.underestimatedCount)
    var rest = text.makeIterator()
    while let byte = rest.next() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return bytes
  }

  private static func encode(_ bytes: some Collection<UInt8>, bare: (UInt8) -> Bool) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
      if isUnreserved(byte) || bare(byte) {
        encoded.append(byte)
      } else {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(digits[Int(byte >> 4)])
        encoded.append(digits[Int(byte & 15)])
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }
}

/// Text for XML and HTML, between tags and in quoted attributes alike.
package enum Markup {
  /// Escapes `& < > " '`. Characters that XML 1.0 (section 2.2) does not allow become U+FFFD.
  package static func escaped(_ text: String) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      // A parser would read it as a line feed.
      case "\r": result += "&#13;"
      case "\t", "\n": result.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{fffe}", "\u{ffff}": result += "\u{fffd}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension String {
  /// The text as one word of a shell: in single quotes, with its own ones as `'\''` (POSIX, Shell Command Language,
  /// section 2.2.2).
  package var shellQuoted: String {
    "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}

extension Unicode.Scalar {
  /// True for control characters of terminals: C0, DEL and C1; U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
  /// U+2069, which change the order in which text is read; line and paragraph separators.
  package var movesTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }

  /// Direction marks, which affect only adjacent letters. Arabic and Hebrew names have them.
  fileprivate var isDirectionMark: Bool { [0x61c, 0x200e, 0x200f].contains(value) }
}

extension String {
  /// True when the text has no control characters. Direction marks are allowed; ``escapedForTerminal(keepingLines:)``
  /// escapes them.
  ///
  /// - Parameter keepingLines: whether line feeds are allowed.
  /// - Complexity: O(bytes).
  package func isPrintable(keepingLines: Bool = false) -> Bool {
    unicodeScalars.allSatisfy { !$0.movesTerminal || $0.isDirectionMark || $0 == "\n" && keepingLines }
  }

  /// The text with escapes such as `\u001b` for control characters, on one line.
  ///
  /// The escapes are those of JSON, which has such characters only in strings: JSON stays equivalent JSON. Bytes of
  /// file names that are not UTF-8 are escaped likewise (`SystemPath`).
  ///
  /// - Parameters:
  ///   - keepingLines: whether line feeds stay.
  ///   - isMessage: whether the text is for people alone: such bytes become `\xFC`, which JSON does not have.
  /// - Complexity: O(bytes); printable ASCII is not copied.
  package func escapedForTerminal(keepingLines: Bool = false, isMessage: Bool = false) -> String {
    var text = self
    let isPlain = text.withUTF8 { bytes in
      bytes.allSatisfy { (0x20..<0x7f).contains($0) || ($0 == 0x0a && keepingLines) }
    }
    if isPlain { return text }
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count + 16)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where keepingLines: escaped.unicodeScalars.append(scalar)
      case "\n": escaped += #"\n"#
      case "\r": escaped += #"\r"#
      case "\t": escaped += #"\t"#
      case _ where isMessage && scalar.escapedByte != nil:
        escaped += #"\x"# + String(scalar.value & 0xff, radix: 16, uppercase: true)
      case _ where scalar.movesTerminal || scalar.escapedByte != nil:
        let digits = String(scalar.value, radix: 16)
        escaped += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension StringProtocol {
  /// The text without the white space at both ends.
  package var trimmingWhitespace: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
