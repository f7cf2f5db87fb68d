import Foundation
import ServerSupport
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Documents stay valid and unchanged in meaning, whatever a bundle's metadata contain.
@Suite(.ownThread) struct EscapingTests {
  /// Random combinations of hostile strings.
  private static func strings(seed: UInt64) -> [String] {
    var generator = SeededGenerator(seed: seed)
    return (0..<40).map { _ in
      (0..<Int.random(in: 1...4, using: &generator)).map { _ in Samples.hostile.randomElement(using: &generator) ?? "" }
        .joined()
    }
  }

  private static func info(_ text: String, format: TileFormat = .png) -> TilesetInfo {
    Samples.info(
      id: text, name: text, metadata: ["description": text, "attribution": text, "version": text, "json": text],
      format: format)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func jsonRoundTrips(seed: UInt64) throws {
    for text in Self.strings(seed: seed) {
      let json = try TileJSONTests.parsed(TileJSON.document(Self.info(text), at: Samples.address))
      #expect(json["name"] as? String == text, "seed \(seed)")
      #expect(json["description"] as? String == text, "seed \(seed)")
      let tiles = try #require((json["tiles"] as? [String])?.first)
      let path = tiles.dropFirst("https://maps.example.org/tiles/".count).dropLast("/{z}/{x}/{y}.png".count)
      #expect(path.removingPercentEncoding == text, "seed \(seed)")
      #expect(path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._~,%".contains($0)) }, "seed \(seed)")
    }
  }

  @Test(arguments: [4, 5, 6] as [UInt64]) func xmlStaysWellFormed(seed: UInt64) throws {
    for text in Self.strings(seed: seed) {
      let info = Self.info(text)
      let layer = try #require(
        try XMLTree.parsed(WMTSCapabilities.document([info], at: Samples.address))["Contents"]?["Layer"])
      #expect(layer["ows:Title"]?.text == Self.storable(text), "seed \(seed)")
      let map = try XMLTree.parsed(try #require(TMSDocument.tileMap(info, at: Samples.address)))
      #expect(map["Title"]?.text == Self.storable(text), "seed \(seed)")
      let service = try XMLTree.parsed(TMSDocument.service([info], at: Samples.address))
      #expect(service.all("TileMap").count == 1, "seed \(seed)")
      let report = try XMLTree.parsed(OWSException.document(code: text, locator: text, text: text))
      #expect(report["Exception"]?["ExceptionText"]?.text == Self.storable(text), "seed \(seed)")
    }
  }

  /// Metadata must not add tags or attributes to the pages.
  @Test(arguments: [7, 8, 9] as [UInt64]) func metadataAddsNoMarkupToPages(seed: UInt64) throws {
    let libraries = WebLibraries(leaflet: "/l", maplibre: "/m")
    for text in Self.strings(seed: seed) {
      for format in [TileFormat.png, .pbf] {
        let hostile = Self.info(text, format: format)
        var plain = Self.info("x", format: format)
        // Cards omit the id if it is the name, and have empty descriptions.
        plain.id = hostile.id
        plain.name = hostile.id
        let pages = [hostile, plain].map { info in
          String(
            decoding: IndexPage.document(
              [info], failures: [(info.name, info.name)], libraries: libraries, at: Samples.address)
              + ViewerPage.document(info, others: [info], libraries: libraries, at: Samples.address), as: UTF8.self)
        }
        #expect(Self.tags(pages[0]) == Self.tags(pages[1]), "seed \(seed)")
        #expect(Self.count("<script", in: pages[0]) == Self.count("</script>", in: pages[0]), "seed \(seed)")
        #expect(!pages[0].contains("onerror=alert(1)>"), "seed \(seed)")
      }
    }
  }

  @Test(arguments: [10, 11, 12] as [UInt64]) func settingsOfTheViewerAreJSON(seed: UInt64) throws {
    for text in Self.strings(seed: seed) {
      let page = String(
        decoding: ViewerPage.document(
          Self.info(text), others: [Samples.info(id: "other", name: text)],
          libraries: WebLibraries(leaflet: "/l", maplibre: nil),
          at: Samples.address), as: UTF8.self)
      let start = try #require(page.range(of: "id=\"settings\">"))
      let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
      let settings = try TileJSONTests.parsed(Array(page[start.upperBound..<end.lowerBound].utf8))
      #expect(settings["name"] as? String == text, "seed \(seed)")
      #expect((settings["backgrounds"] as? [[String: Any]])?.first?["name"] as? String == text, "seed \(seed)")
      let credits = try #require(settings["credits"] as? String)
      #expect(Credits(html: credits).html == credits, "seed \(seed): what is safe stays as it is")
      #expect(!credits.contains("<script") && !credits.contains("javascript:alert(1)'>x"), "seed \(seed)")
    }
  }

  /// The characters of a text that XML allows.
  private static func storable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.value {
          case 9, 10, 13: scalar
          case 0..<0x20, 0x7f..<0xa0, 0xfffe, 0xffff: "\u{fffd}"
          default: scalar
          }
        }))
  }

  private static func tags(_ html: String) -> Int { count("<", in: html) }

  private static func count(_ part: String, in text: String) -> Int { text.components(separatedBy: part).count - 1 }
}
