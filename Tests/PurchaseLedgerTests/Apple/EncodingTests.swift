import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

@Suite(.ownThread) struct EncodingTests {
  @Test func uuidsAreReadAsFoundationReadsThem() {
    let text = "7E3fb20b-4CDB-47cc-936d-99d65f608138"
    #expect(UUID(printed: text) == UUID(uuidString: text))
    for wrong in [
      "", "7e3fb20b4cdb47cc936d99d65f608138", "7e3fb20b-4cdb-47cc-936d-99d65f60813g", text + "0",
      "-" + text.dropFirst(),
    ] {
      #expect(UUID(printed: wrong) == nil)
    }
  }

  @Test func idsAndDatesAreReadFromNumbersAndText() {
    #expect(JSONValue.number("1697680122257.447").integer == 1_697_680_122_257)
    #expect(JSONValue.string("1697680122257").integer == 1_697_680_122_257)
    #expect(JSONValue.number("1e300").integer == nil)
    #expect(JSONValue.string("nan").integer == nil)
    #expect(JSONValue.number("12345").identifier == JSONValue.string("12345").identifier)
    #expect(JSONValue.number("1.5").identifier == nil)
  }
}
