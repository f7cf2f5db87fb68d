package import PurchaseLedger
import Support

/// A login in the two forms in which ledgers have it.
///
/// New accounts get the ``folded`` form, and only if it passes ``checkDistinct()``: it is an identifier of RFC 8264
/// (letters, marks, digits, printable ASCII, single spaces) that the Highly Restrictive level of Unicode Technical
/// Standard 39 allows. Accounts of earlier versions were stored in the ``plain`` form without these rules; they are
/// found by it.
package struct Login: Hashable, Sendable {
  /// Trimmed, compatibility-normalised (NFKC), in lower case.
  package let plain: String
  /// The plain form with characters of equal upper case as one, `ß` as `ss`, `ς` as `σ`, `ı` and `i̇` as `i`.
  package let folded: String

  /// Logins as people type them.
  ///
  /// - Throws: `LedgerError` `.account` for one that no account can have.
  package init(_ typed: String) throws(LedgerError) {
    plain = UnicodeForm.nfkc(typed.trimmingWhitespace()).lowercased()
    folded = Self.folded(plain)
    guard !plain.isEmpty, plain.utf8.count <= 254, plain.unicodeScalars.allSatisfy(Self.isVisible) else {
      throw LedgerError(
        .account, at: "login", "must have 1 to 254 bytes, and no control, bidirectional or other invisible characters")
    }
  }

  /// In the order in which accounts are looked for.
  var forms: [String] { plain == folded ? [plain] : [plain, folded] }

  private static func folded(_ text: String) -> String {
    // i with a dot above is what a capital İ becomes, and looks like i.
    let dotless = UnicodeForm.nfkc(text.uppercased().lowercased()).unicodeScalars
    var scalars = String.UnicodeScalarView()
    for scalar in dotless where !(scalar == "\u{307}" && (scalars.last == "i" || scalars.last == "j")) {
      // The context decides which of the two the system's lower case has.
      scalars.append(scalar == "ς" ? "σ" : scalar)
    }
    return UnicodeForm.nfkc(String(scalars))
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: false
    default: true
    }
  }
}

// MARK: - New logins

extension Login {
  /// Checks that a new login cannot be mistaken for another one.
  ///
  /// - Throws: `LedgerError` `.account` that names the rule.
  func checkDistinct() throws(LedgerError) {
    func refused(_ rule: String, remedy: String? = nil) -> LedgerError {
      LedgerError(.account, at: "login", rule, remedy: remedy)
    }
    let scalars = folded.unicodeScalars
    // It stands for half a surrogate pair, or for bytes that are not UTF-8.
    guard !scalars.contains("\u{fffd}") else {
      throw refused("holds a damaged character (U+FFFD)", remedy: "type it again")
    }
    guard folded.utf8.count <= 254, scalars.allSatisfy(Self.isOfIdentifiers), !folded.contains("  ") else {
      throw refused("must consist of letters, digits and the printable characters of ASCII, with single spaces between")
    }
    guard Self.hasFewMarks(scalars) else {
      throw refused("has a mark without a letter, or more than four on a letter", remedy: "leave them out")
    }
    guard Set(scalars.compactMap(Self.zero)).count <= 1 else {
      throw refused("mixes digits of several scripts, which look alike", remedy: "use those of one")
    }
    let letters = String(String.UnicodeScalarView(scalars.filter { $0.properties.isAlphabetic }))
    guard Self.isOfOneScript(letters) else {
      throw refused(
        "mixes letters of several scripts, or has some of a rare one", remedy: "use the letters of one language")
    }
    let others = letters.unicodeScalars.filter { !$0.isASCII }
    let isWhollyLatin = !letters.isEmpty && letters.unicodeScalars.allSatisfy(Self.likeLatin.contains)
    guard !isWhollyLatin, !others.contains(where: Self.phoneticLikeLatin.contains) else {
      throw refused(
        "looks as if it had other letters of Latin", remedy: "use those, or add a letter that looks different")
    }
  }

  /// The class IdentifierClass of RFC 8264, and the space between the parts of a user name (RFC 8265, section 3.1).
  private static func isOfIdentifiers(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return (0x20...0x7e).contains(scalar.value) }
    guard !scalar.properties.isDefaultIgnorableCodePoint else { return false }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .uppercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark,
      .decimalNumber:
      return true
    default: return false
    }
  }

  /// UTS 39, section 5.4: at most four marks in a row, and each row after a letter.
  private static func hasFewMarks(_ scalars: String.UnicodeScalarView) -> Bool {
    var (row, isAfterLetter) = (0, false)
    for scalar in scalars {
      let isMark = [.nonspacingMark, .spacingMark].contains(scalar.properties.generalCategory)
      row = isMark ? row + 1 : 0
      if isMark, row > 4 || !isAfterLetter { return false }
      if !isMark { isAfterLetter = scalar.properties.isAlphabetic }
    }
    return true
  }

  /// The zero of a decimal digit's script (UTS 39, section 5.3).
  private static func zero(of digit: Unicode.Scalar) -> UInt32? {
    guard digit.properties.numericType == .decimal, let value = digit.properties.numericValue else { return nil }
    return digit.value - UInt32(value)
  }

  /// Letters of one script, or of the Latin, Chinese, Japanese and Korean ones that are written together (UTS 39,
  /// section 5.2, Highly Restrictive). Only scripts that UTS 31 recommends for identifiers.
  private static func isOfOneScript(_ letters: String) -> Bool {
    let together = ["Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul"]
    let alone = """
      Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew Kannada Khmer Lao \
      Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan
      """.split(separator: " ").map(String.init)
    return (together + alone).contains { scripts in
      let classes = (scripts + " Common Inherited").split(separator: " ").map { "\\p{Script=\($0)}" }.joined()
      guard let pattern = try? Regex("[\(classes)]*").matchingSemantics(.unicodeScalar) else { return false }
      return letters.wholeMatch(of: pattern) != nil
    }
  }

  /// Letters of other scripts that confusables.txt of UTS 39 maps to small Latin letters of ASCII.
  private static let likeLatin = Set("асԁеһіјӏорԛѕԝхугѵьαγινορσυօսհոզգցסוןطاهەഠဝ".unicodeScalars)

  /// The same of Latin letters: those of phonetic alphabets.
  private static let phoneticLikeLatin = Set("ɑɡɩɪȷʏᴄᴏᴠᴡᴢꜱǀǃꞌ".unicodeScalars)
}
