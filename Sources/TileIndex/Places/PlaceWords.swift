/// Names as place search compares them, in bundles of all containers, in catalogues and apps.
package enum PlaceWords {
  /// The words of a text: runs of letters, digits and combining marks, as they are written.
  package static func written(in text: String) -> [Substring.UnicodeScalarView] {
    text.unicodeScalars.split { scalar in
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
        .letterNumber, .otherNumber, .nonspacingMark, .spacingMark:
        false
      default: true
      }
    }
  }

  /// A text in lower case, without diacritics, in plain letters where there are such: `Łódź` is `lodz`, `Straße` is
  /// `strasse`. Characters of other widths are those of the usual one (``CompatibleText``). Scripts without spaces have
  /// one around each character, so that `都庁` is found in `東京都庁`.
  ///
  /// - Complexity: O(text).
  package static func folded(_ text: String) -> String {
    var folded = ""
    for scalar in CompatibleText.text(text).lowercased().unicodeScalars
    where scalar.properties.canonicalCombiningClass == .notReordered {
      if let letters = letters[scalar] {
        folded += letters
      } else if isWordOfItsOwn(scalar) {
        folded += " \(scalar) "
      } else {
        folded.unicodeScalars.append(base(scalar))
      }
    }
    return folded
  }

  /// The words of a folded text with one space between.
  package static func joined(_ text: String) -> String {
    written(in: folded(text)).map { String($0) }.joined(separator: " ")
  }

  /// The words by which a name is found: those of ``joined(_:)``, then each word with an apostrophe as one without it.
  /// `O'Hare` is found by `o'hare`, `hare` and `ohare`.
  package static func indexed(_ name: String) -> String {
    let folded = folded(name)
    return (written(in: folded) + contracted(folded)).map { String($0) }.joined(separator: " ")
  }

  /// A folded text without the apostrophes in words: `ohare international` of `o'hare international`.
  static func joinedWithoutApostrophes(_ text: String) -> String {
    written(in: folded(text).filter { $0 != apostrophe }).map { String($0) }.joined(separator: " ")
  }

  private static let apostrophe: Character = "'"

  /// The words of a folded text that have apostrophes, without these.
  private static func contracted(_ folded: String) -> [Substring.UnicodeScalarView] {
    guard folded.contains(apostrophe) else { return [] }
    return folded.split(separator: " ").flatMap { part in
      let words = written(in: String(part.filter { $0 != apostrophe }))
      let all = written(in: String(part))
      return words.filter { word in !all.contains { $0.elementsEqual(word) } }
    }
  }

  /// Chinese characters and kana.
  private static func isWordOfItsOwn(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x3005...0x3007, 0x3041...0x3096, 0x30a1...0x30fa, 0x30fc, 0x31f0...0x31ff, 0x3400...0x4dbf, 0x4e00...0x9fff,
      0xf900...0xfaff, 0x20000...0x3ffff:
      true
    default: false
    }
  }

  /// A precomposed letter gives its base letter by its Unicode name, since the standard library does not expose
  /// decompositions: `é` is named LATIN SMALL LETTER E WITH ACUTE.
  private static func base(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    guard !scalar.isASCII, let name = scalar.properties.name else { return scalar }
    if name.hasPrefix(latin), let letter = firstWord(name.dropFirst(latin.count)), letter.utf8.count == 1 {
      return letter.lowercased().unicodeScalars.first ?? scalar
    }
    if name.hasPrefix(greek), name.contains(" WITH "), let letter = firstWord(name.dropFirst(greek.count)) {
      return greekLetters[String(letter)] ?? scalar
    }
    return scalar
  }

  private static func firstWord(_ text: Substring) -> Substring? { text.split(separator: " ").first }

  private static let latin = "LATIN SMALL LETTER "
  private static let greek = "GREEK SMALL LETTER "
  private static let greekLetters: [String: Unicode.Scalar] = [
    "ALPHA": "α", "EPSILON": "ε", "ETA": "η", "IOTA": "ι", "OMICRON": "ο", "UPSILON": "υ", "OMEGA": "ω", "RHO": "ρ",
  ]

  /// Letters whose names do not tell.
  private static let letters: [Unicode.Scalar: String] = [
    "ß": "ss", "æ": "ae", "ǽ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ŋ": "n", "ĸ": "k", "ĳ": "ij", "ŉ": "n",
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "ς": "σ", "ё": "е", "й": "и",
    "ї": "і", "ў": "у", "ѓ": "г", "ќ": "к",
  ]
}
