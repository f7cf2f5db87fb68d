/// Overviews of all parts of a mosaic, of one factor, that lie on one grid of coarser pixels.
///
/// A mosaic whose parts do not meet at whole pixels of an overview has no overview: its seams would be drawn twice, or
/// not at all. A finer overview may still fit.
struct MosaicOverviews {
  struct Part {
    let source: any RasterSource
    /// Where the whole source lies, in pixels of the mosaic; it may reach beyond the mosaic.
    let rect: PixelRect
  }

  /// Pixels of the mosaic along an edge of a pixel of the overview.
  let factor: Int
  /// In the order of the mosaic's parts.
  let parts: [Part]
  /// In pixels of the overview.
  let width: Int
  let height: Int

  /// The coarsest overviews that fit; nil if there are none.
  ///
  /// - Parameters:
  ///   - width: of the mosaic in pixels, as `height`.
  ///   - factorMax: pixels of the mosaic that a pixel of the overview may span in either direction.
  init?(of parts: [Part], width: Int, height: Int, factorMax: Double) throws {
    var factorMax = factorMax
    while let first = try parts.first?.source.overview(factorMax: factorMax) {
      let factor = Int((Double(parts[0].source.width) / Double(first.width)).rounded())
      if factor > 1, let fitting = try Self.parts(parts, width: width, height: height, factor: factor) {
        self.factor = factor
        self.parts = fitting
        self.width = (width + factor - 1) / factor
        self.height = (height + factor - 1) / factor
        return
      }
      // What was found spans at least half a pixel less than the next finer one may.
      factorMax = Double(factor) - 0.5
    }
    return nil
  }

  private static func parts(_ parts: [Part], width: Int, height: Int, factor: Int) throws -> [Part]? {
    func isWhole(_ start: Int, _ count: Int, _ limit: Int) -> Bool {
      let end = start + count
      return start.isMultiple(of: factor) && (end == limit || min(end, limit).isMultiple(of: factor))
    }
    func coarse(_ count: Int) -> Int { (count + factor - 1) / factor }
    var fitting: [Part] = []
    for part in parts {
      let rect = part.rect
      guard isWhole(rect.x, rect.width, width), isWhole(rect.y, rect.height, height),
        let overview = try part.source.overview(factorMax: Double(factor) * 1.01),
        overview.width == coarse(rect.width), overview.height == coarse(rect.height)
      else { return nil }
      fitting.append(
        Part(
          source: overview,
          rect: PixelRect(x: rect.x / factor, y: rect.y / factor, width: overview.width, height: overview.height)))
    }
    return fitting
  }
}

extension Georeference {
  /// That of an overview of the given factor.
  func coarser(by factor: Int) -> Georeference { part(origin: .zero, step: SIMD2(repeating: Double(factor))) }
}
