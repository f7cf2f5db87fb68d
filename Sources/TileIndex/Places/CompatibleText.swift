/// A text in the characters that Unicode's compatibility decomposition (NFKC, Unicode Standard Annex 15) has for other
/// forms of them, as far as names of places use such; the standard library exposes no normalization.
enum CompatibleText {
  /// Full-width Latin (`ＴＯＫＹＯ`), half-width kana (`ﾄｳｷｮｳ`) with their sound marks, Roman numerals, and digits in
  /// circles, above the line or of other scripts. All apostrophes become that of ASCII.
  ///
  /// - Complexity: O(text).
  static func text(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
    var scalars = String.UnicodeScalarView()
    scalars.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0xff01...0xff5e: append(scalar.value - 0xfee0, to: &scalars)
      case 0xff66...0xff9d: scalars.append(kana[Int(scalar.value - 0xff66)])
      case 0x3099, 0xff9e: sound(1, &scalars)
      case 0x309a, 0xff9f: sound(2, &scalars)
      case 0x2160...0x217f: scalars.append(contentsOf: romanNumerals[Int(scalar.value - 0x2160) % 16].unicodeScalars)
      // Acute and grave accents, quotes, primes, and the modifier letters of Hawaiian and Arabic names.
      case 0xb4, 0x2b9, 0x2bb...0x2bf, 0x2018, 0x2019, 0x201b, 0x2032, 0xa78c: scalars.append("'")
      default:
        if let number = number(scalar) {
          scalars.append(contentsOf: String(number).unicodeScalars)
        } else {
          scalars.append(scalar)
        }
      }
    }
    return String(scalars)
  }

  private static func append(_ value: UInt32, to scalars: inout String.UnicodeScalarView) {
    if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
  }

  /// A sound mark after kana, whose marked forms follow the plain one in Unicode's table: `カ` and `゛` are `ガ`.
  private static func sound(_ steps: UInt32, _ scalars: inout String.UnicodeScalarView) {
    guard let last = scalars.last else { return }
    let block: UInt32 = last.value & ~0x1f == 0x30a0 || (0x30a1...0x30fa).contains(last.value) ? 0x60 : 0
    let hiragana = last.value - block
    let marked: UInt32? =
      switch hiragana {
      // か to ぢ, every second one.
      case 0x304b...0x3062 where steps == 1 && hiragana % 2 == 1: last.value + 1
      // つ to と, after the small tsu.
      case 0x3064...0x3069 where steps == 1 && hiragana % 2 == 0: last.value + 1
      // は to ほ, every third one.
      case 0x306f...0x307d where hiragana % 3 == 0: last.value + steps
      case 0x3046 where steps == 1: block + 0x3094
      default: nil
      }
    guard let scalar = marked.flatMap(Unicode.Scalar.init) else { return }
    scalars.removeLast()
    scalars.append(scalar)
  }

  /// The whole number that a digit of another form stands for.
  private static func number(_ scalar: Unicode.Scalar) -> Int? {
    guard scalar.value >= 0x80 else { return nil }
    switch scalar.properties.generalCategory {
    case .otherNumber, .decimalNumber: return scalar.properties.numericValue.flatMap { Int(exactly: $0) }
    default: return nil
    }
  }

  /// From U+FF66.
  private static let kana = Array(
    "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"
      .unicodeScalars)

  /// From U+2160, in capitals and small.
  private static let romanNumerals = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "l", "c", "d", "m",
  ]
}
