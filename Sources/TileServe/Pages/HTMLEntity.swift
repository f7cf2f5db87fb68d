/// A character reference at the start of a text: `&amp;`, `&#169;`, `&#xA9;` and the names that credits use.
struct HTMLEntity {
  let text: String
  /// Characters from `&` to `;`.
  let length: Int

  /// Nil when the text does not begin with a reference that is known here.
  init?(_ source: ArraySlice<Character>) {
    guard source.first == "&", let end = source.prefix(12).firstIndex(of: ";") else { return nil }
    let name = String(source[(source.startIndex + 1)..<end])
    length = end - source.startIndex + 1
    if name.hasPrefix("#") {
      let digits = name.dropFirst()
      let isHex = digits.first == "x" || digits.first == "X"
      guard let value = isHex ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits),
        let scalar = Unicode.Scalar(value)
      else { return nil }
      text = String(Character(scalar))
    } else if let known = Self.names[name] {
      text = known
    } else {
      return nil
    }
  }

  private static let names: [String: String] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{a0}", "copy": "©", "reg": "®",
    "trade": "™",
    "ndash": "–", "mdash": "—", "hellip": "…", "middot": "·", "bull": "•", "laquo": "«", "raquo": "»", "sect": "§",
    "auml": "ä", "ouml": "ö", "uuml": "ü", "Auml": "Ä", "Ouml": "Ö", "Uuml": "Ü", "szlig": "ß", "eacute": "é",
    "egrave": "è", "agrave": "à", "ccedil": "ç", "ntilde": "ñ", "oslash": "ø", "aring": "å",
  ]
}

/// Attributes of a tag.
enum CreditsAttribute {
  /// The value of an attribute, quoted or bare, with its character references resolved; nil where the tag has none of
  /// this name.
  static func value(_ wanted: String, in attributes: [Character]) -> String? {
    var at = 0
    func skip(while condition: (Character) -> Bool) {
      while at < attributes.count, condition(attributes[at]) { at += 1 }
    }
    while at < attributes.count {
      skip { $0.isWhitespace || $0 == "/" }
      let start = at
      skip { !$0.isWhitespace && $0 != "=" && $0 != "/" }
      let name = String(attributes[start..<at]).lowercased()
      skip { $0.isWhitespace }
      var value: ArraySlice<Character> = []
      if at < attributes.count, attributes[at] == "=" {
        at += 1
        skip { $0.isWhitespace }
        if at < attributes.count, attributes[at] == "\"" || attributes[at] == "'" {
          let quote = attributes[at]
          at += 1
          let first = at
          skip { $0 != quote }
          value = attributes[first..<at]
          at = min(at + 1, attributes.count)
        } else {
          let first = at
          skip { !$0.isWhitespace }
          value = attributes[first..<at]
        }
      }
      if name == wanted { return resolved(value) }
    }
    return nil
  }

  private static func resolved(_ value: ArraySlice<Character>) -> String {
    var text = ""
    var rest = value
    while let character = rest.first {
      if let entity = HTMLEntity(rest) {
        text += entity.text
        rest = rest.dropFirst(entity.length)
      } else {
        text.append(character)
        rest = rest.dropFirst()
      }
    }
    return text
  }
}
