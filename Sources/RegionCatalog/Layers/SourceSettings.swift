/// What is said of one source of a map alone.
public struct SourceSettings: Hashable, Sendable {
  /// Pixels to leave out at the sides of a raster.
  public struct Crop: Hashable, Sendable, Codable {
    /// Pixels.
    public let left: Int
    /// Pixels.
    public let top: Int
    /// Pixels.
    public let right: Int
    /// Pixels.
    public let bottom: Int

    /// The pixels in the order of a manifest.
    ///
    /// - Returns: nil unless there are four numbers, none below 0: left, top, right, bottom.
    public init?(_ numbers: [Double]) {
      let pixels = numbers.compactMap(Int.init(exactly:))
      guard pixels.count == 4, numbers.count == 4, pixels.allSatisfy({ 0...Int(Int32.max) ~= $0 }) else { return nil }
      (left, top, right, bottom) = (pixels[0], pixels[1], pixels[2], pixels[3])
    }
  }

  /// What is cut off at the source's edges; nil for nothing.
  public var crop: Crop?
  /// The outline within which the source is drawn.
  public var cutline: RegionBoundary?
  /// Overrides the source's own coordinate reference system, and that of all sources.
  public var crs: String?
  /// Overrides the source's own nodata value, and that of all sources.
  public var nodata: [Double]?
  /// Overrides the bands that are shown of all sources. Not for elevation models, as ``alpha``.
  public var bands: [Int]?
  /// Overrides the source's own statement of its alpha band, and that of all sources.
  public var alpha: AlphaBand?
  /// For a digital elevation model: how its heights are drawn. Neighbouring sources with one relief are one layer.
  public var relief: ReliefLayer?

  /// A source as it is.
  public init() {}
}
