import Foundation
import Testing

@testable import TileServe

@Suite struct JSONValueTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0.5e+10", "12345678901234567890", "\"a\\\"\\\\b\"", "[]", "{}",
    "[1,[2,{\"a\":null}]]",
    "{\"a\":1,\"b\":[true,\"ü😀\"]}",
  ])
  func textComesBackAsItWas(text: String) throws {
    #expect(String(decoding: try #require(JSONValue(parsing: " \n\(text)\t")).bytes, as: UTF8.self) == text)
  }

  @Test(arguments: [
    "", " ", "nul", "truex", "01", "1.", ".5", "1e", "+1", "-", "\"", "\"\\x\"", "\"\\u12\"", "\"\n\"", "[1,]", "[1 2]",
    "{\"a\"}",
    "{\"a\":1,}", "{a:1}", "[", "{", "1 2", "'a'", "NaN",
  ])
  func whatIsNotJSONIsNil(text: String) { #expect(JSONValue(parsing: text) == nil) }

  @Test func escapesAreResolved() {
    #expect(JSONValue(parsing: #""\u00fc\ud83d\ude00\ud83dx\n\/""#) == .string("ü😀\u{fffd}x\n/"))
  }

  @Test func nestingIsBounded() {
    #expect(JSONValue(parsing: String(repeating: "[", count: 60) + String(repeating: "]", count: 60)) != nil)
    #expect(JSONValue(parsing: String(repeating: "[", count: 70) + String(repeating: "]", count: 70)) == nil)
  }

  @Test func insideMarkupNothingEndsTheElement() throws {
    let value = JSONValue.object([.init("</script>", .string("<!--&\u{2028}"))])
    let text = value.text(insideMarkup: true)
    #expect(!text.contains("<") && !text.contains(">") && !text.contains("&"))
    let read = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String]
    #expect(read == ["</script>": "<!--&\u{2028}"])
  }

  @Test func numbersHaveNoExponentAndAreFinite() {
    #expect(
      JSONValue.numbers(1e-7, 1e21, .nan, -180, 0.1).text(insideMarkup: false)
        == "[0.0000001,1000000000000000000000,0,-180,0.1]")
  }
}
