import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct JSONTextTests {
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
