/// What is said of one source of a map alone.
package struct SourceSettings: Hashable, Sendable {
  /// Pixels to leave out at the sides of a raster.
  package struct Crop: Hashable, Sendable, Codable {
    /// Pixels.
    package let left: Int
    /// Pixels.
    package let top: Int
    /// Pixels.
    package let right: Int
    /// Pixels.
    package let bottom: Int

    /// The pixels in the order of a manifest.
    ///
    /// - Returns: nil unless there are four numbers, none below 0: left, top, right, bottom.
    package init?(_ numbers: [Double]) {
      let pixels = numbers.compactMap(Int.init(exactly:))
      guard pixels.count == 4, numbers.count == 4, pixels.allSatisfy({ 0...Int(Int32.max) ~= $0 }) else { return nil }
      (left, top, right, bottom) = (pixels[0], pixels[1], pixels[2], pixels[3])
    }
  }

  /// What is cut off at the source's edges; nil for nothing.
  package var crop: Crop?
  /// The outline within which the source is drawn.
  package var cutline: RegionBoundary?
  /// Overrides the source's own coordinate reference system, and that of all sources.
  package var crs: String?
  /// Overrides the source's own nodata value, and that of all sources.
  package var nodata: [Double]?
  /// Overrides the bands that are shown of all sources. Not for elevation models, as ``alpha``.
  package var bands: [Int]?
  /// Overrides the source's own statement of its alpha band, and that of all sources.
  package var alpha: AlphaBand?
  /// For a digital elevation model: how its heights are drawn. Neighbouring sources with one relief are one layer.
  package var relief: ReliefLayer?

  /// A source as it is.
  package init() {}
}
