import Foundation
import Support
import TestSupport
import Testing

@Suite(.ownThread) struct TextTests {
  @Test func base64AgreesWithFoundation() throws {
    let seed: UInt64 = 20_261_121
    var generator = SeededGenerator(seed: seed)
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Array(Data(bytes).base64EncodedString().utf8)
      #expect(Base64.encode(bytes) == text, "seed \(seed)")
      #expect(Base64.decode(text) == bytes, "seed \(seed)")
      #expect(Base64.decode(Base64.encodeURL(bytes)) == bytes, "seed \(seed)")
      #expect(Base64URL.decode(Base64.encodeURLText(bytes)) == bytes, "seed \(seed)")
    }
  }

  @Test(arguments: ["A", "AAAAA", "AA=", "AAA==", "AA===", "=", "AA=A", "A A A", "AA\n", "AA!A", "AAA\u{e4}"])
  func invalidBase64IsRefused(_ text: String) { #expect(Base64.decode(text.utf8) == nil) }

  @Test func whiteSpaceIsSkippedOnRequest() {
    #expect(Base64.decode("QU JD\r\n RA==".utf8, skippingSpace: true) == Array("ABCD".utf8))
  }

  /// Padding, white space, the other alphabet, and bits that encode nothing.
  @Test(arguments: ["AA==", "A A", "+/", "AB", "AAB"])
  func base64URLAcceptsOneTextForBytes(_ text: String) { #expect(Base64URL.decode(text) == nil) }

  @Test func hexadecimalDigitsAreReadInEitherCase() {
    #expect(Hexadecimal.text([0, 0x0f, 0xa0, 0xff]) == "000fa0ff" && [0x0b as UInt8].hexadecimal == "0b")
    #expect(Hexadecimal.bytes("000Fa0fF") == [0, 0x0f, 0xa0, 0xff] && Hexadecimal.bytes("") == [])
    #expect(Hexadecimal.bytes("0") == nil && Hexadecimal.bytes("0g") == nil && Hexadecimal.bytes("é") == nil)
  }

  @Test func percentEncodingAgreesWithFoundation() throws {
    let texts = ["", "a b", "ä/ö?#%", "a,b", "~-._", "\u{0}\n\"{}", "日本"]
    for text in texts {
      #expect(PercentEncoding.encode(text).removingPercentEncoding == text)
      #expect(PercentEncoding.decode(PercentEncoding.encode(text).utf8) == Array(text.utf8))
    }
    #expect(PercentEncoding.encode("a b,c/d") == "a%20b%2Cc%2Fd")
    #expect(PercentEncoding.segment("a b,c/d") == "a%20b,c%2Fd")
    #expect(PercentEncoding.path("a b,c/d") == "a%20b%2Cc/d")
    #expect(PercentEncoding.decode("a+b".utf8, plusIsSpace: true) == Array("a b".utf8))
    for text in ["%", "%4", "%4g", "a%%41"] { #expect(PercentEncoding.decode(text.utf8) == nil) }
  }

  @Test func markupIsEscaped() {
    #expect(
      Markup.escaped("<a href=\"x\">'&'</a>\r\u{1}")
        == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;&#13;\u{fffd}")
  }

  @Test func wordsAreQuotedForShells() {
    #expect("a map.tif".shellQuoted == "'a map.tif'" && "".shellQuoted == "''")
    #expect("Hawai'i".shellQuoted == #"'Hawai'\''i'"#)
  }

  @Test func controlCharactersAreEscapedForTerminals() {
    #expect("a\u{1b}[2J\nb\u{202e}c\u{200f}".escapedForTerminal() == #"a\u001b[2J\nb\u202ec\u200f"#)
    #expect("a\nb".escapedForTerminal(keepingLines: true) == "a\nb")
    #expect("שלום\u{200f}".isPrintable() && !"a\nb".isPrintable() && "a\nb".isPrintable(keepingLines: true))
    #expect(!"\u{202e}".isPrintable() && !"\u{7f}".isPrintable())
  }
}
