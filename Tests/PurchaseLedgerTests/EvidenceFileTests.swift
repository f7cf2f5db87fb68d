import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// What a file is one piece or several of.
@Suite(.ownThread) struct EvidenceFileTests {
  private func pieces(_ text: String) throws -> [EvidencePiece] {
    let folder = try TemporaryFolder()
    try folder.write("evidence", text)
    let file = try EvidenceFile(path: folder.file("evidence"), evidenceBytesMax: 4_194_304)
    var pieces: [EvidencePiece] = []
    while let piece = try file.next() { pieces.append(piece) }
    return pieces
  }

  /// Base64 may have any letters at the beginning of a line.
  @Test(arguments: 1...3) func aWrappedReceiptIsOnePiece(_ place: Int) throws {
    var lines = (0..<5).map { _ in String(repeating: "MIIT", count: 19) }
    lines[place] = "eyJ" + lines[place].dropFirst(3)
    #expect(try pieces(lines.joined(separator: "\n") + "\n").count == 1)
  }

  @Test func linesOfSignedPiecesAreSeveral() throws {
    #expect(try pieces("eyJhbGc.e30.AA\neyJhbGc.e30.AB\n").map(\.line) == [1, 2])
    // One damaged line is no reason to take the others for a part of it.
    #expect(try pieces("damaged\neyJhbGc.e30.AB\neyJhbGc.e30.AC\n").count == 3)
  }
}
