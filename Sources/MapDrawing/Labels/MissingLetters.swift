/// Letters that no installed font has, so that labels show boxes with code points in their place, by script.
package struct MissingLetters: Sendable {
  private struct Script: Sendable {
    let font: String?
    let example: String
    var texts: Set<String> = []
    var letters: Set<Unicode.Scalar> = []
  }

  private var scripts: [String: Script] = [:]

  mutating func add(_ letters: [Unicode.Scalar], of text: String) {
    for letter in letters {
      let (name, font) = Self.script(of: letter)
      scripts[name, default: Script(font: font, example: text)].texts.insert(text)
      scripts[name]?.letters.insert(letter)
    }
  }

  /// A line for each script: the letters, how many texts have them and the first of these, and what to install.
  package var lines: [String] {
    scripts.sorted { $0.key < $1.key }.map { name, script in
      let codes = script.letters.map(\.value).sorted().map(Self.code)
      let more = codes.count > Self.codesMax ? " and \(codes.count - Self.codesMax) more" : ""
      let letters = codes.prefix(Self.codesMax).joined(separator: ", ") + more
      let texts = script.texts.count == 1 ? "1 text" : "\(script.texts.count) texts"
      let isLong = script.example.count > Self.exampleMax
      let example = String(script.example.prefix(Self.exampleMax).map { $0.isNewline ? " " : $0 }) + (isLong ? "…" : "")
      let package = script.font.map { " (apt-get install \($0))" } ?? ""
      return "labels: no installed font has the \(name) letters \(letters) of \(texts), such as \"\(example)\", which"
        + " show boxes in their place; install a font that has them\(package)"
    }
  }

  /// Of at least four digits, such as `U+0E01`.
  private static func code(_ value: UInt32) -> String {
    let digits = String(value, radix: 16).uppercased()
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  private static let (codesMax, exampleMax) = (6, 40)

  /// Words in names of letters that follow the script's.
  private static let kinds: Set<Substring> = [
    "LETTER", "SMALL", "CAPITAL", "CHARACTER", "VOWEL", "SIGN", "SYLLABLE", "SYLLABICS", "DIGIT", "UNIFIED",
    "COMPATIBILITY", "IDEOGRAPH", "CONSONANT", "MARK", "TONE", "NUMBER",
  ]
  private static let eastAsian: Set<String> = ["Cjk", "Hiragana", "Katakana", "Hangul", "Bopomofo"]

  /// The script of a letter as Unicode's name of it begins, and a package of Debian with a font for it.
  private static func script(of letter: Unicode.Scalar) -> (name: String, font: String?) {
    let properties = letter.properties
    // A font whose glyphs are pictures has no outlines, so that Noto Color Emoji does not do.
    if properties.isEmoji, !properties.isAlphabetic { return ("emoji", "fonts-symbola") }
    switch properties.generalCategory {
    case .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol, .dashPunctuation, .otherPunctuation,
      .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation, .connectorPunctuation, .otherNumber:
      return ("symbol", "fonts-symbola")
    case .privateUse, .unassigned: return ("private or unassigned", nil)
    default: break
    }
    let words = (properties.name ?? "").replacing("-", with: " ").split(separator: " ")
    let name = words.prefix { !kinds.contains($0) }.prefix(2).map { $0.prefix(1) + $0.dropFirst().lowercased() }
      .joined(separator: " ")
    if eastAsian.contains(String(name.prefix { $0 != " " })) {
      return (name == "Cjk" ? "Chinese" : name, "fonts-noto-cjk")
    }
    return (name.isEmpty ? "unknown" : name, "fonts-noto-core")
  }
}
