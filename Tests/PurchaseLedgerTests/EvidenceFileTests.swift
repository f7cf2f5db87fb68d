import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// How a file is split into pieces of evidence.
@Suite(.ownThread) struct EvidenceFileTests {
  private func pieces(_ text: String, cap: Int = 4_194_304) throws -> [EvidenceItem] {
    let folder = try TemporaryFolder()
    try folder.write("evidence", text)
    let file = try EvidenceFile(path: folder.file("evidence"), evidenceBytesMax: cap)
    var pieces: [EvidenceItem] = []
    while let piece = try file.next() { pieces.append(piece) }
    return pieces
  }

  /// A line of base64 may start with any letters, also with those that start a JWS.
  @Test(arguments: 1...3) func aWrappedReceiptIsOnePiece(_ place: Int) throws {
    var lines = (0..<5).map { _ in String(repeating: "MIIT", count: 19) }
    lines[place] = "eyJ" + lines[place].dropFirst(3)
    #expect(try pieces(lines.joined(separator: "\n") + "\n").count == 1)
  }

  @Test func linesOfJWSAreSeparatePieces() throws {
    #expect(try pieces("eyJhbGc.e30.AA\neyJhbGc.e30.AB\n").map(\.line) == [1, 2])
    // One damaged line does not merge the others into one piece.
    #expect(try pieces("damaged\neyJhbGc.e30.AB\neyJhbGc.e30.AC\n").count == 3)
  }

  /// The first line does not determine the format of the others, unless they continue it.
  @Test(
    arguments: [
      "# receipts of May", "receipts of May", "MIIT", "eyJhbGc", "[", "{\"account\": \"anna\", \"evidence\": \"MIIT",
      "{\"account\": \"anna\",", "{\"account\"", "{\"account\": \"anna\", \"evidence\": tru", "{", "{}",
    ], ["\n", "\r\n"])
  func aFirstLineThatIsNotEvidenceIsAPieceOfItsOwn(_ first: String, _ ending: String) throws {
    let receipts = (0..<5).map { "MIIT" + String(repeating: "\($0)", count: 4_000) }
    let found = try pieces(([first] + receipts).joined(separator: ending) + ending)
    #expect(found.map(\.line) == Array(1...6), "\(first)")
    #expect(
      found.dropFirst().map { String(decoding: $0.bytes, as: UTF8.self).filter { $0.isHexDigit || $0.isLetter } }
        == receipts)
  }

  /// A JSON object in one line of the given length.
  private func line(_ bytes: Int) -> String { "{\"a\":\"\(String(repeating: "x", count: bytes - 8))\"}" }

  /// The first line is examined whatever its length, and a line above the cap is one piece that is marked as too large.
  @Test(arguments: [1 << 20, (1 << 20) + 1, 3 << 20, 12 << 20], [0, 1, 2])
  func aLongLineIsOnePieceAmongOthers(_ bytes: Int, _ place: Int) throws {
    var lines = Array(repeating: "{}", count: 3)
    lines[place] = line(bytes)
    let found = try pieces(lines.joined(separator: "\n") + "\n")
    #expect(found.map(\.line) == [1, 2, 3])
    let isTooLarge = bytes > 2 * 4_194_304 + 65_536
    #expect(found.map(\.isTooLarge) == (0..<3).map { $0 == place && isTooLarge })
    #expect(found.map(\.bytes.count) == lines.map { isTooLarge && $0.count == bytes ? 0 : $0.count })
  }

  /// The cap applies to pieces, not to files.
  @Test func aFileMayBeLongerThanAPiece() throws {
    let found = try pieces((0..<40).map { _ in line(4_000) }.joined(separator: "\n"), cap: 4_096)
    #expect(found.count == 40 && !found.contains(where: \.isTooLarge))
  }

  @Test func aDocumentOfManyLinesIsOnePiece() throws {
    let members = (0..<60_000).map { "\"m\($0)\": \"some text that fills a line\"" }.joined(separator: ",\n")
    let found = try pieces("{\n\(members)\n}\n")
    #expect(found.count == 1 && found[0].bytes.count > 2 << 20)
    // The position of the first line break and errors further on do not matter.
    for text in [
      "{\"status\": 0,\n\"a\": 1\n}\n", "{\"a\":\n[1,\n2],\n\"b\": oops\n}\n", "{\n\t\"signature\" = \"x\";\n}\n",
    ] {
      #expect(try pieces(text).count == 1, "\(text)")
    }
  }

  @Test func aByteOrderMarkIsSkipped() throws {
    #expect(try pieces("\u{feff}eyJhbGc.e30.AA\neyJhbGc.e30.AB\n").map(\.bytes.count) == [14, 14])
    #expect(try pieces("\u{feff}{\n}\n").map(\.bytes.first) == [UInt8(ascii: "{")])
  }
}
