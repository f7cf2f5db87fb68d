import TileIndex

/// What is drawn of each source: itself, or one of its overviews if all stored zooms are much coarser than it.
///
/// An overview has at least two pixels for each pixel of the deepest zoom, in both directions, so that it is averaged
/// again, however it was made. The zoom whose pixels are the source's own is always drawn from the source itself.
struct SourceOverviews {
  let sources: [any RasterSource]
  /// The edge of the finest pixel that is drawn, in target CRS units; nil if no overview is used.
  let resolution: Double?

  /// - Parameters:
  ///   - footprints: one for each source, in the same order.
  ///   - cell: the edge of a pixel of the deepest zoom, in target CRS units; nil if the sources decide on that zoom.
  init(
    _ sources: [any RasterSource], footprints: [SourceFootprint], cell: Double?, resampling: Resampling
  ) throws {
    guard let cell else {
      (self.sources, resolution) = (sources, nil)
      return
    }
    var finest = Double.infinity
    var isUsed = false
    self.sources = try zip(sources, footprints).map { source, footprint in
      // A little more, since resolutions are measured.
      let factorMax = cell / footprint.resolution / 2 * 1.001
      // Picked pixels must be the source's own.
      guard factorMax >= 2, resampling != .nearest, let overview = try source.overview(factorMax: factorMax)
      else {
        finest = min(finest, footprint.resolution)
        return source
      }
      isUsed = true
      finest = min(finest, footprint.resolution * Double(source.width) / Double(overview.width))
      return overview
    }
    resolution = isUsed ? finest : nil
  }
}
