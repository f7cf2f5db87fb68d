import TileIndex

/// Sources that differ much in detail. Unless the depth is variable, all are drawn at one working zoom, so that a
/// coarse one over a large area takes the time of a fine one.
extension CutPlan {
  /// A source with pixels of so many of the finest source's, along an edge, is coarse.
  private static let coarseFactor = 8.0

  /// What to do about a coarse source.
  static let coarseRemedy =
    "add --variable-depth (\"variableDepth\"), which ends each area at the zoom of the sources there"

  static func areMixed(_ footprints: [SourceFootprint]) -> Bool {
    let resolutions = footprints.map(\.resolution)
    return resolutions.max()! >= coarseFactor * resolutions.min()!
  }

  /// The coarse sources, if they take most of the tiles of a working zoom that nobody asked for.
  ///
  /// - Parameter zoom: what the options say.
  /// - Returns: indices into ``footprints``, and how many pixels of the finest source one of theirs spans.
  func coarseSources(_ zoom: ZoomSelection) -> [(index: Int, factor: Double)] {
    if case .levels(let named) = zoom, named.upperBound == workingZoom { return [] }
    guard depths.count == 1, Self.areMixed(footprints), let all = coverages[workingZoom]?.count, all > 1000 else {
      return []
    }
    let finest = footprints.map(\.resolution).min()!
    let (coarse, fine) = (
      footprints.indices.filter { footprints[$0].resolution >= Self.coarseFactor * finest },
      footprints.filter { $0.resolution < Self.coarseFactor * finest }
    )
    let ranges = fine.flatMap(\.boxes).compactMap { matrixSet.range(coveringCRSBounds: $0, zoom: workingZoom) }
    guard all > 4 * CandidateTiles(zoom: workingZoom, ranges).count else { return [] }
    return coarse.map { ($0, footprints[$0].resolution / finest) }
  }
}
