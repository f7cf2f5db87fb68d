import Support
import TestSupport
import Testing
import TileIndex

@testable import MapDrawing
@testable import RegionCatalog

/// What would cost much and show nothing is not drawn.
@Suite(.ownThread)
struct UnseenDashTests {
  private func pens(_ layout: String, _ dashes: String) throws -> [Pen] {
    let json = #"{"type": "line", "layout": {\#(layout)}, "paint": {"line-dasharray": \#(dashes)}}"#
    let rule = try #require(
      try StyleRule(JSONValue(parsing: Array(json.utf8))) { place, message, _ in Issue.record("\(place) \(message)") })
    let line = MapFeature(.lines([[SIMD2(8, 46), SIMD2(12, 46)]]), properties: [:])
    let map = try VectorMap(
      [VectorMap.Layer(.features([line]), rules: [rule], images: [:])], matrixSet: .webMercatorQuad, density: 1,
      frame: nil)
    return try map.drawing(zoom: 8).items.compactMap { if case .line(let pen) = $0.style { pen } else { nil } }
  }

  @Test func dashesThatNobodySeesCostNothing() throws {
    #expect(try pens("", "[1e-9, 1]").isEmpty)
    #expect(try pens("", "[1, 1e-9]").map(\.dashes) == [[]])
    // Caps close the gaps of a line as thin as this.
    #expect(try pens(#""line-cap": "round""#, "[1e-9, 1]").map(\.dashes) == [[]])
    #expect(try pens(#""line-cap": "square""#, "[0, 1]").map(\.dashes) == [[]])
    #expect(try pens(#""line-cap": "round""#, "[0, 3]").map(\.dashes) == [[0, 3]])
    #expect(try pens("", "[2, 3]").map(\.dashes) == [[2, 3]])
  }

  /// Whatever a style has, no tile has more dashes than pixels, but for some.
  @Test(
    arguments: [
      "[1e-9, 1e-9]", "[1e-300, 1]", "[0.001, 0.3]", "[1e308, 1e308]", "[1, 1e300]",
      "[\(String(repeating: "0.01, ", count: 99)) 0.02]",
    ], ["butt", "round", "square"])
  func dashesAreBoundedByWhatIsSeen(_ dashes: String, cap: String) throws {
    for pen in try pens(#""line-cap": "\#(cap)""#, dashes) where !pen.dashes.isEmpty {
      #expect(pen.dashes.reduce(0, +) > 0.25)
      let points = (0...100).map { SIMD2(9 + Double($0) / 500, 46) }
      let shape = try #require(LineShape(points, matrixSet: .webMercatorQuad, zoom: 12)).measured()
      let length = shape.lengths.last ?? 0
      let all = shape.dashes(pen.dashes, in: shape.points.indices, hasCaps: pen.cap != .butt)
      #expect(Double(all.count) < (length / 0.25 + 2) * Double(pen.dashes.count), "\(all.count)")
    }
  }

  /// CSS has 96 pixels to the inch.
  @Test(arguments: [("10mm", 38), ("1in", 96), ("1cm", 38), ("72pt", 96), ("40px", 40), ("40", 40)])
  func lengthsOfIconsAreThoseOfCSS(_ length: String, pixels: Int) throws {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='\(length)' height='\(length)' viewBox='0 0 9 9'/>"
    let picture = try SVGDrawing(Array(svg.utf8)).picture(scale: 1)
    #expect(picture.width == pixels && picture.height == pixels)
  }
}
