import Support
import TestSupport
import Testing

/// Texts that are read piece by piece, through a window that is smaller than they are.
@Suite(.ownThread) struct JSONPiecesTests {
  private static let windowBytes = 1 << 17

  private func read(_ text: [UInt8]) throws -> JSONValue { try JSONReader.read(MemoryBytes(text)) { try $0.value() } }

  /// Moves a document over the end of the first window a byte at a time, so that the window ends at each of its bytes.
  @Test func aWindowMayEndAnywhere() throws {
    let text = Array(#"{"na\u00e9me": [1.5e3, "\ud83d\ude00\n\"", true, false, null, -0.25, {}, []], "é": "ü"} "#.utf8)
    let expected = try JSONValue(parsing: text)
    for start in (Self.windowBytes - text.count - 1)...Self.windowBytes {
      #expect(try read([UInt8](repeating: 0x20, count: start) + text) == expected, "\(start)")
    }
  }

  /// The same values, and the same errors at the same places, as of a text that is read whole.
  @Test(arguments: [1, 2, 3]) func piecesAreReadAsAWhole(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func value(_ depth: Int) -> String {
      switch Int.random(in: depth > 5 ? 2...6 : 0...6, using: &random) {
      case 0:
        let elements = (0..<Int.random(in: 0...9, using: &random)).map { _ in value(depth + 1) }
        return "[\(elements.joined(separator: " , "))]"
      case 1:
        let members = (0..<Int.random(in: 0...9, using: &random)).map { "\"name \($0)\":\(value(depth + 1))" }
        return "{\(members.joined(separator: ",\n"))}"
      case 2: return "\(Double.random(in: -1e6...1e6, using: &random))"
      case 3: return "\"\(String(repeating: "ä\\n", count: Int.random(in: 0...40, using: &random)))\""
      case 4: return "true"
      case 5: return "null"
      default: return "\(Int.random(in: -999...999, using: &random))"
      }
    }
    var items: [String] = []
    while items.reduce(0, { $0 + $1.utf8.count }) < 3 * Self.windowBytes {
      items.append(value(0))
      // A text that is longer than the window.
      if items.count == 20 { items.append("\"\(String(repeating: "x", count: 3 * Self.windowBytes))\"") }
    }
    let text = Array("[\(items.joined(separator: ","))]".utf8)
    #expect(try read(text) == JSONValue(parsing: text))
    for _ in 0..<20 {
      var damaged = text
      let place = Int.random(in: 0..<text.count, using: &random)
      if Bool.random(using: &random) {
        damaged[place] = UInt8(ascii: "}")
      } else {
        damaged.removeSubrange(place...)
      }
      #expect(fault { try read(damaged) } == fault { try JSONValue(parsing: damaged) }, "seed \(seed), byte \(place)")
    }
  }

  private func fault(_ body: () throws -> JSONValue) -> JSONValue.SyntaxError? {
    do {
      _ = try body()
      return nil
    } catch {
      return error as? JSONValue.SyntaxError
    }
  }

  @Test func skippedValuesAreCheckedLikeOthers() throws {
    func skip(_ text: String) throws { try JSONReader.read(MemoryBytes(Array(text.utf8))) { try $0.skip() } }
    try skip(#"{"a": [1, {"b": "\u00e9"}], "c": null}"#)
    for text in ["{", "[1,]", #"{"a": 01}"#, #"{"a": 1, "a": 2}"#, #"["\x"]"#, "[nul]", "[1] 2", ""] {
      #expect(throws: JSONValue.SyntaxError.self, "\(text)") { try skip(text) }
    }
  }

  /// Also of numbers that the quick way cannot round.
  @Test func numbersAreThoseOfTheStandardLibrary() throws {
    var random = SeededGenerator(seed: 4)
    var texts = ["0", "-0", "-0.0", "1e22", "9007199254740993", "0.1", "5e-324", "1.7976931348623157e308", "123e-7"]
    for _ in 0..<500 {
      let digits = Int.random(in: 0...20, using: &random)
      let whole = Int.random(in: -200...200, using: &random)
      let fraction = (0..<digits).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
      texts.append(fraction.isEmpty ? "\(whole)" : "\(whole).\(fraction)")
    }
    for text in texts {
      let number = try JSONReader.read(MemoryBytes(Array(text.utf8))) { try $0.number() }
      #expect(number.bitPattern == Double(text)?.bitPattern, "\(text)")
    }
  }

  /// A file that cannot be read further does not seem to end.
  @Test func errorsOfTheSourceAreThrown() {
    struct Broken: ByteSource, Error {
      let byteCount = 100
      func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int { throw self }
    }
    #expect(throws: Broken.self) { try JSONReader.read(Broken()) { try $0.value() } }
  }
}
