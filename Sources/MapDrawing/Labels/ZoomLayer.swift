import RegionCatalog
import TileIndex

/// The features of a layer at one zoom. Each is projected when the first rule or label needs it, and kept for the
/// others: a casing, the line on it, the name along it.
final class ZoomLayer {
  let features: [MapFeature]
  let rules: [StyleRule]
  let icons: IconSet
  private let matrixSet: TileMatrixSet
  private let zoom: Int
  private let isKeeping: Bool
  private var known: [Int: [[LineShape]]] = [:]

  /// - Parameter isKeeping: whether shapes are kept for other rules.
  init(
    _ features: [MapFeature], rules: [StyleRule], icons: IconSet, matrixSet: TileMatrixSet, zoom: Int,
    isKeeping: Bool = true
  ) {
    (self.features, self.rules, self.icons, self.matrixSet, self.zoom) = (features, rules, icons, matrixSet, zoom)
    self.isKeeping = isKeeping
  }

  /// The shapes of a feature, those of one polygon together.
  func parts(_ index: Int) -> [[LineShape]] {
    if let known = known[index] { return known }
    let made = parts(features[index].geometry)
    // A point is projected as soon as it is looked up.
    if isKeeping, features[index].kind != .point || made.count > 1 { known[index] = made }
    return made
  }

  private func parts(_ geometry: GeoJSONGeometry) -> [[LineShape]] {
    func shape(_ points: [SIMD2<Double>], isRing: Bool = false) -> LineShape? {
      LineShape(points, matrixSet: matrixSet, zoom: zoom, isRing: isRing)
    }
    switch geometry {
    case .points(let points):
      return points.filter { matrixSet.isReachable($0) }.compactMap { shape([$0]).map { [$0] } }
    case .lines(let lines):
      return lines.flatMap { matrixSet.reachable(line: $0) }.compactMap { shape($0).map { [$0] } }
    case .polygons(let polygons):
      return polygons.map {
        $0.rings.flatMap { matrixSet.reachable(ring: $0) }.compactMap { shape($0, isRing: true) }
      }.filter { !$0.isEmpty }
    case .collection: return geometry.members.flatMap(parts)
    }
  }
}
