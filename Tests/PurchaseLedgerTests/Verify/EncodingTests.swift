import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

@Suite(.ownThread) struct EncodingTests {
  @Test func base64MatchesFoundationForAllLengths() throws {
    let seed: UInt64 = 20_261_121
    var generator = SeededGenerator(seed: seed)
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Array(Data(bytes).base64EncodedString().utf8)
      #expect(Base64.encode(bytes) == text, "seed \(seed)")
      #expect(Base64.decode(text) == bytes, "seed \(seed)")
      #expect(Base64.decode(Base64.encodeURL(bytes)) == bytes, "seed \(seed)")
    }
  }

  @Test(arguments: ["A", "AAAAA", "AA=", "AAA==", "AA===", "=", "AA=A", "A A A", "AA\n", "AA!A", "AAA\u{e4}"])
  func invalidBase64IsRejected(_ text: String) { #expect(Base64.decode(text.utf8) == nil) }

  @Test func uuidParsingMatchesFoundation() {
    let text = "7E3fb20b-4CDB-47cc-936d-99d65f608138"
    #expect(UUID(printed: text) == UUID(uuidString: text))
    for wrong in [
      "", "7e3fb20b4cdb47cc936d99d65f608138", "7e3fb20b-4cdb-47cc-936d-99d65f60813g", text + "0",
      "-" + text.dropFirst(),
    ] {
      #expect(UUID(printed: wrong) == nil)
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:30:15.250Z", 951_827_415_250),
      ("4001-01-01T00:00:00+0000", 64_092_211_200_000),
      ("2020-07-22T18:33:14+0100", 1_595_439_194_000), ("2020-07-22T12:03:14-05:30", 1_595_439_194_000),
    ] as [(String, Int64)])
  func receiptDatesAreParsed(_ text: String, _ milliseconds: Int64) {
    #expect(RFC3339.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "2020-07-22", "2020-07-22T18:33:14", "2020-13-22T18:33:14Z", "2020-07-22T6:33:14 PMZ",
    "2020-07-22T18:33:14+25:00", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
    "2024-04-31T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
  ])
  func otherDatesAreRejected(_ text: String) { #expect(RFC3339.milliseconds(text) == nil) }
}
