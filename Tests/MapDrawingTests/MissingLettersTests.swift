import Testing

@testable import MapDrawing

/// What is said of letters that no font has.
@Suite struct MissingLettersTests {
  @Test(arguments: [
    ("กรุงเทพ", "Thai", "fonts-noto-core"), ("दिल्ली", "Devanagari", "fonts-noto-core"),
    ("ქართული", "Georgian", "fonts-noto-core"), ("東京", "Chinese", "fonts-noto-cjk"),
    ("とうきょう", "Hiragana", "fonts-noto-cjk"),
    ("서울", "Hangul", "fonts-noto-cjk"), ("\u{1F3D5}", "emoji", "fonts-symbola"), ("→", "symbol", "fonts-symbola"),
    ("Łódź", "Latin", "fonts-noto-core"),
  ])
  func aLineNamesScriptLettersTextAndFont(_ text: String, script: String, font: String) throws {
    var missing = MissingLetters()
    #expect(missing.lines.isEmpty)
    let letters = text.unicodeScalars.filter { script != "Latin" || $0.value > 127 }
    for _ in 0..<2 { missing.add(Array(letters), of: text) }
    let line = try #require(missing.lines.first)
    #expect(missing.lines.count == 1, "\(missing.lines)")
    #expect(line.contains("the \(script) letters U+") && line.contains("of 1 text, such as \"\(text)\""), "\(line)")
    #expect(line.contains("apt-get install \(font))"), "\(line)")
    let code = String(try #require(letters.map(\.value).min()), radix: 16).uppercased()
    #expect(line.contains(code), "\(line)")
  }

  @Test func eachScriptHasALineAndLongListsAreCut() throws {
    var missing = MissingLetters()
    for text in ["กขฃคฅฆงจฉช ไป", "กข \u{1F3D5}", "กข"] {
      missing.add(text.unicodeScalars.filter { $0 != " " }, of: text)
    }
    let lines = missing.lines
    #expect(lines.count == 2 && lines[0].contains("the Thai letters U+0E01, U+0E02") && lines[1].contains("emoji"))
    #expect(lines[0].contains(" and 6 more of 3 texts") && lines[1].contains("of 1 text"), "\(lines)")
  }
}
