import Foundation
import Support
import TestSupport
import Testing

@Suite(.ownThread) struct JSONValueTests {
  func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

  @Test func documentsAreReadAndWritten() throws {
    let text =
      #" { "a" : [ 1 , -2.50e+3, true, false, null, { } , [ ] ], "b\u00e9\n" : "x\"\\\/\b\f\r\t\ud83d\ude00" } "#
    let value = try parse(text)
    #expect(
      value["a"]
        == .array([.number("1"), .number("-2.50e+3"), .bool(true), .bool(false), .null, .object([]), .array([])]))
    #expect(value["bé\n"]?.string == "x\"\\/\u{8}\u{c}\r\t😀")
    #expect(value.text == "{\"a\":[1,-2.50e+3,true,false,null,{},[]],\"bé\\n\":\"x\\\"\\\\/\\u0008\\u000c\\r\\t😀\"}")
    #expect(try parse(value.text) == value)
    #expect(try parse("\u{feff}7") == .number("7"))
  }

  @Test(arguments: [
    "", " ", "{", "[", "\"", "\"a", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "1.", ".5", "+1", "-",
    "1e", "nul",
    "tru", "[1 2]", "1 2", "\"\n\"", "\"\\x\"", "\"\\u12g4\"", "{\"a\":1 \"b\":2}", "'a'", "NaN",
  ]) func invalidJSONIsRefused(_ text: String) {
    #expect(throws: JSONValue.SyntaxError.self) { try parse(text) }
  }

  @Test func anErrorNamesTheRepeatedNameAtTheEndOfTheText() {
    let error = #expect(throws: JSONValue.SyntaxError.self) { try parse("{\"a\":1,\n\"a\":2}") }
    #expect(error?.description == "line 2: \"a\" occurs twice")
  }

  @Test func halfSurrogatePairsAreReplaced() throws {
    #expect(try parse(#""\ud83dx""#).string == "\u{fffd}x")
    #expect(try parse(#""\ude00""#).string == "\u{fffd}")
    #expect(try parse(#""\ud83d\u0041""#).string == "\u{fffd}A")
  }

  @Test func deepDocumentsAreRefused() {
    for text in ["[", "{\"a\":"] {
      #expect(throws: JSONValue.SyntaxError.self) { try parse(String(repeating: text, count: 200_000)) }
    }
  }

  @Test func errorsNameTheLine() {
    let error = #expect(throws: JSONValue.SyntaxError.self) { try parse("{\n\"a\": 1,\n}") }
    #expect(error?.line == 3)
  }

  /// Documents with one byte changed: the parser and Foundation's agree on what is JSON.
  @Test func agreesWithFoundation() throws {
    var random = SeededGenerator(seed: 9)
    let document = Array(#"{"a":[1,-2.5e3,true,null],"b":{"c":"d\u00e9\n"},"e":0.25}"#.utf8)
    let letters = Array(#"{}[]",:\0123eE+-. tfnu"#.utf8)
    for _ in 0..<5_000 {
      var bytes = document
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[place] = letters.randomElement(using: &random)!
      case 1: bytes.remove(at: place)
      default: bytes.insert(letters.randomElement(using: &random)!, at: place)
      }
      // Foundation accepts repeated names.
      let ours = (try? JSONValue(parsing: bytes, duplicates: .kept)) != nil
      let theirs = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
      let text = String(decoding: bytes, as: UTF8.self)
      // Foundation accepts a trailing comma; RFC 8259 does not.
      let hasLastComma = text.contains(",}") || text.contains(",]")
      #expect(ours == theirs || (theirs && hasLastComma), "\(text)")
    }
  }

  @Test func textInsideMarkupCannotEndTheElement() throws {
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

  @Test func membersAreNilWhereTheyAreNull() throws {
    let value = try parse(#"{"a":null,"b":1}"#)
    #expect(value["a"] == nil && value.member("a") == .null && value.member("c") == nil && value["b"] == .number("1"))
  }
}
