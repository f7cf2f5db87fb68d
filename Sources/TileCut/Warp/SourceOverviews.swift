import TileIndex

/// What is drawn of each source: itself, or one of its overviews if all stored zooms are much coarser than it.
///
/// An overview has at least two pixels for each pixel of the deepest zoom, in both directions, so that it is averaged
/// again, however it was made. The zoom whose pixels are the source's own is always drawn from the source itself.
struct SourceOverviews {
  let sources: [any RasterSource]
  /// The edge of a pixel of each of them, in target CRS units.
  let resolutions: [Double]

  /// - Parameters:
  ///   - footprints: one for each source, in the same order.
  ///   - cell: the edge of a pixel of the deepest zoom, in target CRS units; nil if the sources decide on that zoom.
  init(
    _ sources: [any RasterSource], footprints: [SourceFootprint], cell: Double?, resampling: Resampling
  ) throws {
    typealias Drawn = (source: any RasterSource, resolution: Double)
    let drawn = try zip(sources, footprints).map { source, footprint -> Drawn in
      // A little more, since resolutions are measured.
      let factorMax = (cell ?? 0) / footprint.resolution / 2 * 1.001
      // Picked pixels must be the source's own.
      guard factorMax >= 2, resampling != .nearest, let overview = try source.overview(factorMax: factorMax) else {
        return (source, footprint.resolution)
      }
      return (overview, footprint.resolution * Double(source.width) / Double(overview.width))
    }
    (self.sources, resolutions) = (drawn.map(\.source), drawn.map(\.resolution))
  }
}
