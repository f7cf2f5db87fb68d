import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

@Suite(.ownThread) struct WarpTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let raster: SampleRaster
    let resampling: Resampling
    var testDescription: String { "\(raster.name), \(resampling.rawValue)" }
  }

  static let cases = SampleRaster.all.flatMap { raster in
    // ModeTests has a reference of its own for votes.
    Resampling.allCases.filter { $0 != .mode }.map { Case(raster: raster, resampling: $0) }
  }

  /// Each raster with one kernel, each kernel with several rasters.
  static let someCases = cases.indices.filter(isOneOfSome).map { cases[$0] }
  static let otherCases = cases.indices.filter { !isOneOfSome($0) }.map { cases[$0] }
  private static func isOneOfSome(_ index: Int) -> Bool { index % 4 == index / 4 % 4 }

  /// Every pixel equals the reference, for every kind of mapping and kernel, with holes and with alpha.
  @Test(arguments: someCases)
  func everyPixelEqualsTheReference(_ test: Case) throws { try expectReference(test) }

  @Test(.long, arguments: otherCases)
  func everyPixelOfOtherCasesEqualsTheReference(_ test: Case) throws { try expectReference(test) }

  private func expectReference(_ test: Case) throws {
    for (index, filling) in SampleRaster.Filling.allCases.enumerated() {
      let seed = UInt64(index + 1)
      var random = SeededGenerator(seed: seed)
      let source = try test.raster.source(filling, seed: seed)
      let fixture = try WarpFixture(source, index == 1 ? .worldCRS84Quad : .webMercatorQuad, above: index)
      let warper = try fixture.warper(test.resampling)
      let reference = try fixture.reference(test.resampling)
      for rect in fixture.rects(2, edge: 33, &random) {
        let complaint = Self.complaint(reference, try warper.draw(rect), rect)
        #expect(complaint == nil, "\(filling), \(fixture.matrixSet), zoom \(fixture.zoom), \(rect)")
      }
    }
  }

  /// Describes the first wrong pixel; nil if all equal the reference.
  private static func complaint(_ reference: WarpReference, _ buffer: PixelBuffer, _ rect: PixelRect) -> String? {
    for y in 0..<rect.height {
      for x in stride(from: (y * 7) % 11, to: rect.width, by: 11) {
        let expected = reference.pixel(rect.x + x, rect.y + y)
        guard isDecided(expected, reference) else { continue }
        let (found, value) = (buffer[x, y], expected.value ?? .zero)
        // Colours are weighted by alpha, since a colour with little alpha is hardly visible.
        let away = (0..<3).map { abs(Double(found[$0]) - value[$0]) }.max()! * value.w / 255
        if abs(Double(found.w) - value.w) > 5 || away > 5 {
          return "pixel \(x), \(y) at \(expected.position), scale \(expected.scale): \(found) instead of \(value)"
        }
      }
    }
    return nil
  }

  /// Positions within rounding errors of a discontinuity may have either result: pixel edges for masks and nearest
  /// neighbours, the source's edges, the scale at which kernels begin to widen, and the position where a kernel with
  /// negative weights touches the source's edge or a hole.
  private static func isDecided(_ pixel: WarpReference.Pixel, _ reference: WarpReference) -> Bool {
    let p = pixel.position
    guard p.x.isFinite, p.y.isFinite else { return true }
    func isNearWhole(_ value: Double, _ hair: Double) -> Bool { abs(value - value.rounded()) < hair }
    for c in 0..<2 {
      if isNearWhole(p[c], 0.01) || abs(pixel.scale[c] * 0.95 - 1) < 0.02 { return false }
      let reach = (reference.resampling == .lanczos ? 3 : 2) * max(pixel.scale[c], 1)
      if reference.resampling.overshoots, isNearWhole(p[c] - reach - 0.5, 0.03) || isNearWhole(p[c] + reach - 0.5, 0.03)
      {
        return false
      }
    }
    return true
  }

  static let separable = SampleRaster.all.filter {
    $0.name.contains("degrees") || $0.name.hasPrefix("Mercator") || $0.name.contains("world")
  }

  /// The separable and the general path give the same pixels.
  @Test(arguments: separable, SampleRaster.Filling.allCases)
  func separableAndGeneralAgree(_ raster: SampleRaster, _ filling: SampleRaster.Filling) throws {
    let fixture = try WarpFixture(raster.source(filling, seed: 5))
    var random = SeededGenerator(seed: 6)
    let rect = fixture.rects(1, edge: 40, &random)[0]
    guard try fixture.mapper().separableAxes(rect) != nil else { return }
    // At the discontinuities of masks, and of kernels with negative weights beside holes, the two may differ by
    // rounding errors in position.
    guard filling != .mask else { return }
    for resampling in Resampling.allCases where resampling != .nearest && resampling != .mode {
      if resampling.overshoots, filling != .opaque { continue }
      let warper = try fixture.warper(resampling)
      let separable = try warper.draw(rect)
      let general = PixelBuffer(width: rect.width, height: rect.height)
      _ = try warper.warpGeneral(
        rect, spacing: TransformGrid.spacingMax, on: Canvas(tile: rect, clip: rect, buffer: general))
      // The average kernel has sharp edges, so a shift by a rounding error changes it more than the other kernels.
      let tolerance = resampling == .average ? 6 : 2.5
      #expect(separable.distance(to: general) <= tolerance, "\(resampling), \(rect)")
    }
  }

  /// Clipping removes pixels and changes no other.
  @Test(arguments: someCases)
  func clippingChangesNoOtherPixel(_ test: Case) throws {
    let fixture = try WarpFixture(test.raster.source(.soft, seed: 3))
    var random = SeededGenerator(seed: 4)
    let warper = try fixture.warper(test.resampling)
    let rect = fixture.rects(1, edge: 40, &random)[0]
    let whole = try warper.draw(rect)
    for clip in [
      PixelRect(x: rect.x + 7, y: rect.y + 13, width: 20, height: 9),
      PixelRect(x: rect.x + 39, y: rect.y, width: 50, height: 1),
      PixelRect(x: rect.x - 5, y: rect.y + 39, width: 6, height: 1),
    ] {
      let part = try warper.draw(rect, clip: clip)
      for y in 0..<40 {
        for x in 0..<40 {
          let isInside = clip.intersection(PixelRect(x: rect.x + x, y: rect.y + y, width: 1, height: 1)) != nil
          let expected: SIMD4<UInt8> = isInside ? whole[x, y] : .zero
          #expect(part[x, y] == expected, "\(clip) of \(rect) at \(x), \(y)")
        }
      }
    }
  }

  /// Pixels do not depend on the window's size. Where a grid is divided, its nodes differ, by less than is visible.
  @Test(arguments: someCases)
  func pixelsDoNotDependOnWindowSize(_ test: Case) throws {
    let fixture = try WarpFixture(test.raster.source(.opaque, seed: 8), above: 1)
    var random = SeededGenerator(seed: 9)
    let rect = fixture.rects(1, edge: 40, &random)[0]
    let isSeparable = try fixture.mapper().separableAxes(rect) != nil
    let whole = try fixture.warper(test.resampling).draw(rect)
    let pieces = try fixture.warper(test.resampling, windowPixelsMax: 150).draw(rect)
    if isSeparable {
      #expect(whole.distance(to: pieces) == 0)
    } else if test.resampling != .nearest {
      #expect(whole.distance(to: pieces) <= 4, "\(rect)")
    }
  }
}
