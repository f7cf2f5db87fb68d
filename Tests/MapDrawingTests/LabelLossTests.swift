import TestSupport
import Testing
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// Labels that a map lacks are counted, each once for all zooms.
@Suite(.ownThread)
struct LabelLossTests {
  private func map(
    _ features: [MapFeature], _ layout: String, zooms: ClosedRange<Int> = 0...Int.max
  ) throws -> VectorMap {
    let json = #"{"type": "symbol", "layout": {"text-field": "{name}", "text-size": 13 \#(layout)}}"#
    let rule = try #require(
      try StyleRule(JSONValue(parsing: Array(json.utf8))) { place, message, _ in Issue.record("\(place) \(message)") })
    let all = LabelFrame(TileMatrixSet.webMercatorQuad)
    return try VectorMap(
      [VectorMap.Layer(.features(features), rules: [rule])], matrixSet: .webMercatorQuad, density: 1,
      frame: LabelFrame(zooms: zooms, box: all.box, shows: all.shows))
  }

  private func losses(_ map: VectorMap, through zoom: Int) throws -> LabelLosses? {
    _ = try map.drawing(zoom: zoom)
    return map.labelLosses.first
  }

  private static func point(_ name: String, _ x: Double) -> MapFeature {
    MapFeature(.points([SIMD2(x, 46)]), properties: ["name": .string(name)])
  }

  /// Twenty places within a thousandth of a degree.
  private static let crowd = (0..<20).map { point("Place \($0)", 10 + Double($0) / 20_000) }

  @Test func labelsWithoutRoomAreCountedOnceForAllZooms() throws {
    let found = try #require(try losses(try map(Self.crowd, ""), through: 8))
    #expect(found.layer == 0 && found.total == 20)
    #expect(found.dropped.count == 19 && found.dropped.first == "Place 1" && found.cut.count == 0)
    #expect(try losses(try map(Self.crowd, #", "text-allow-overlap": true"#), through: 8) == nil)
  }

  @Test func labelsThatADeeperZoomShowsAreNotLost() throws {
    let two = [Self.point("Eins", 10), Self.point("Zwei", 10.01)]
    #expect(try losses(try map(two, ""), through: 7)?.dropped.count == 1)
    #expect(try losses(try map(two, ""), through: 14) == nil)
  }

  /// Coarser zooms than those of the map have labels that nobody sees.
  @Test func zoomsThatTheMapHasNotDoNotCount() throws {
    let two = [Self.point("Eins", 10), Self.point("Zwei", 10.01)]
    let never = try map(two, "", zooms: 20...21)
    _ = try never.drawing(zoom: 7)
    #expect(never.labelLosses.isEmpty)
  }

  /// A road in pieces needs its name once.
  @Test func linesOfOneNameNeedOneLabel() throws {
    func road(_ name: String, _ from: Double, _ to: Double) -> MapFeature {
      MapFeature(.lines([[SIMD2(from, 46), SIMD2(to, 46)]]), properties: ["name": .string(name)])
    }
    let along = #", "symbol-placement": "line""#
    let pieces = [road("Ringstrasse", 10, 12), road("Ringstrasse", 12, 12.001)]
    #expect(try losses(try map(pieces, along), through: 8) == nil)
    let other = pieces + [road("Stichgasse", 14, 14.001)]
    let found = try #require(try losses(try map(other, along), through: 8))
    #expect(found.total == 3 && found.dropped.count == 1 && found.dropped.first == "Stichgasse")
  }

  // MARK: - Long texts

  /// Pango takes seconds for a megabyte.
  @Test(arguments: ["word ", "\u{e4}", "\u{1F600}", "a\u{301}"])
  func textsThatNoMapHasRoomForAreCutOff(_ part: String) throws {
    let text = String(repeating: part, count: (1 << 20) / part.utf8.count)
    let map = try map([Self.point(text, 10), Self.point("Bregenz", 12)], "")
    let found = try #require(try losses(map, through: 6))
    #expect(found.cut.count == 1 && found.cut.first.hasPrefix(part.prefix(1)))
    #expect(found.cut.first.unicodeScalars.count == 41 && found.cut.first.hasSuffix("…"))
    // Letters of the beginning alone were looked for.
    #expect(map.missingLetters.lines.allSatisfy { $0.utf8.count < 4 * LabelLosses.textBytesMax })
  }

  @Test func beginningsEndBetweenLetters() {
    #expect(SymbolStyle.beginning(of: String(repeating: "x", count: SymbolStyle.textBytesMax)) == nil)
    for offset in 0..<4 {
      let text = String(repeating: "x", count: offset) + String(repeating: "\u{1F600}", count: 1000)
      let beginning = SymbolStyle.beginning(of: text)
      let letters = beginning?.dropLast().unicodeScalars.dropFirst(offset)
      #expect(letters?.allSatisfy { $0 == "\u{1F600}" } == true && beginning?.last == "…")
      #expect((beginning?.utf8.count ?? 0) <= SymbolStyle.textBytesMax + 3)
    }
  }
}
