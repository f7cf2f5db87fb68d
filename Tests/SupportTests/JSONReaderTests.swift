import Support
import TestSupport
import Testing

@Suite(.ownThread) struct JSONReaderTests {
  @Test func numbersKeepTheirDigitsAndEscapesAreDecoded() throws {
    let text = #" {"id": 900719925474099312, "list": [1.50, -0, 1e3, true, null], "t": "a\u00e9\ud83d\ude00\n\"/"} "#
    let value = try JSONReader.read(text.utf8)
    #expect(value["id"] == .number("900719925474099312"))
    #expect(value["list"]?.array == [.number("1.50"), .number("-0"), .number("1e3"), .bool(true), .null])
    #expect(value["t"]?.string == "a\u{e9}\u{1F600}\n\"/")
    #expect(value["missing"] == nil)
  }

  @Test(arguments: [
    "", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{1:2}", "01", "-", "1.", "1e", "+1", "nul", "truth", "\"", "\"\\x\"",
    "\"\\ud800\"",
    "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\u12g4\"", "\"a\nb\"", "1 2", "[1 2]", "NaN",
  ])
  func invalidJSONIsRefused(_ text: String) {
    #expect(throws: JSONReader.Failure.self) { try JSONReader.read(text.utf8) }
  }

  @Test func membersAreLocatedWithoutDecodingValues() throws {
    let text = Array(#" {"a" : {"x":[1,"}]\"",{}], "y":2} ,"b":true, "c":"q\\","d": 1.5e3}  "#.utf8)
    let members = try #require(try JSONReader.members(text[...]))
    #expect(members.map(\.name) == ["a", "b", "c", "d"])
    let values = members.map { String(decoding: text[$0.value], as: UTF8.self) }
    #expect(values == [#"{"x":[1,"}]\"",{}], "y":2}"#, "true", #""q\\""#, "1.5e3"])
    #expect(try JSONReader.members(Array("[1]".utf8)[...]) == nil)
    #expect(try JSONReader.members(Array("{}".utf8)[...])?.isEmpty == true)
  }

  @Test(arguments: [
    "{", "{\"a\"}", "{\"a\":}", "{\"a\":,}", "{\"a\":1", "{\"a\":[1}", "{\"a\":\"x}", "{\"a\":\"x\\", "{\"a\":1} 2",
    "{\"a\":1,}",
    "{\"a\":]}",
  ])
  func damagedObjectsHaveNoMembers(_ text: String) {
    // Only the ends of values are checked, not what is inside brackets.
    #expect(
      (try? JSONReader.members(Array(text.utf8)[...]).map {
        $0.contains { (try? JSONReader.read(Array(text.utf8)[$0.value])) == nil }
      }) ?? true, "\(text)")
  }

  @Test(arguments: [("a\"b\\", #""a\"b\\""#), ("\n\r\t\u{1}\u{1f}\u{7f}é", #""\n\r\t\u0001\u001f\u007fé""#)])
  func textsAreEscaped(_ text: String, _ json: String) throws {
    #expect(text.quotedAsJSON == json)
    #expect(try JSONReader.read(json.utf8).string == text)
  }

  @Test(arguments: [
    (#"{"a":1,"b":2,"a":3}"#, "a"), (#"[0,{"x":{"y":1,"y":1}}]"#, "y"), (#"{"a":1,"\u0061":2}"#, "a"),
    ("{" + (0..<40).map { "\"n\($0)\":0," }.joined() + #""n7":1}"#, "n7"),
  ])
  func repeatedNamesAreRefusedUnlessTheCallerKeepsThem(_ text: String, _ name: String) throws {
    let error = #expect(throws: JSONReader.Failure.self) { try JSONReader.read(text.utf8) }
    #expect(error?.message == "\"\(name)\" occurs twice")
    #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: Array(text.utf8)) }
    #expect(try JSONReader.read(text.utf8, duplicates: .kept).repeatedName == name)
    #expect(try JSONReader.read(text.utf8, duplicates: .lastWins).repeatedName == nil)
  }

  @Test func theLastOfARepeatedNameWinsInForeignDocuments() throws {
    let value = try JSONValue(parsing: Array(#"{"a":1,"b":2,"a":3}"#.utf8), duplicates: .lastWins)
    #expect(value.text == #"{"b":2,"a":3}"#)
  }

  @Test func depthIsLimited() throws {
    _ = try JSONReader.read((String(repeating: "[", count: 64) + String(repeating: "]", count: 64)).utf8)
    #expect(throws: JSONReader.Failure.self) {
      try JSONReader.read(Array(repeating: UInt8(ascii: "["), count: 100_000))
    }
  }

  @Test func invalidUTF8IsRefused() {
    #expect(throws: JSONReader.Failure.self) { try JSONReader.read([0x22, 0xFF, 0x22]) }
  }

  @Test func truncatedAndAlteredTextsNeverTrap() throws {
    let seed: UInt64 = 20_251_121
    var generator = SeededGenerator(seed: seed)
    let text = Array(#"{"a":[1,2.5e-3,"x\u00e9"],"b":{"c":null,"d":false}}"#.utf8)
    for end in 0..<text.count { #expect(throws: JSONReader.Failure.self) { try JSONReader.read(text[..<end]) } }
    var refused = 0
    for _ in 0..<5_000 {
      var changed = text
      changed[Int.random(in: 0..<text.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      if (try? JSONReader.read(changed)) == nil { refused += 1 }
    }
    #expect(refused > 1_000, "seed \(seed)")
  }
}
