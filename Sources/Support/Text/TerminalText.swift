extension Unicode.Scalar {
  /// True for what a terminal obeys: C0, DEL and C1; U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069,
  /// which change the order in which text is read; line and paragraph separators.
  package var movesTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }

  /// The marks of direction, which act on the letters beside them alone; Arabic and Hebrew names have them.
  fileprivate var isDirectionMark: Bool { [0x61c, 0x200e, 0x200f].contains(value) }
}

extension String {
  /// True for what people may be shown as one line. Marks of direction are allowed; a terminal gets them escaped.
  ///
  /// - Parameter keepingLines: whether a line feed is none of that.
  /// - Complexity: O(bytes).
  package func isPrintable(keepingLines: Bool = false) -> Bool {
    unicodeScalars.allSatisfy { !$0.movesTerminal || $0.isDirectionMark || $0 == "\n" && keepingLines }
  }

  /// The text with `\u001b` in the place of each scalar that moves a terminal, which makes one line of it.
  ///
  /// The escapes are those of JSON, where such characters stand in strings alone: JSON stays JSON and says the same.
  ///
  /// - Parameter keepingLines: whether line feeds stay.
  /// - Complexity: O(bytes); plain ASCII is looked through and not copied.
  package func escapedForTerminal(keepingLines: Bool = false) -> String {
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
      case _ where scalar.movesTerminal:
        let digits = String(scalar.value, radix: 16)
        escaped += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
