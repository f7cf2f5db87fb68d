import TileIndex

extension CoordinateReferenceSystem {
  /// How far apart in x the same meridian comes back, in CRS units: a whole turn for longitudes and for Web Mercator, nil for everything else.
  package var horizontalPeriod: Double? {
    if isGeographic { return 2 * .pi / unitFactor }
    return isWebMercator ? 2 * WebMercator.halfWorld : nil
  }
}
