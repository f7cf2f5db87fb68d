import RegionCatalog
import TileIndex

/// The features of a layer that lie beside what a map shows.
package struct FeaturesBeside: Sendable {
  /// The layer's number.
  package let layer: Int
  package let count: Int
  package let total: Int
  /// A position of the first of them: longitude and latitude.
  package let first: SIMD2<Double>
  /// The first one's name, where the style uses it.
  package let name: String?
  /// The map shows the first one's position with longitude and latitude exchanged.
  package let isExchanged: Bool
}

extension VectorMap {
  /// What is not in the box around all that is shown; layers that are made for each zoom have nothing there.
  ///
  /// - Throws: ``DrawingError`` only if the work is to stop.
  package func featuresBeside() throws(DrawingError) -> [FeaturesBeside] {
    let zoom = matrixSet.zooms.lowerBound
    let box = frame.box(zoom)
    // What reaches beyond the antimeridian is seen on the other side, too.
    let turn = matrixSet.turn(zoom: zoom)
    let boxes = turn > 0 ? [-turn, 0, turn].map { box.moved(by: SIMD2($0, 0)) } : [box]
    func shows(_ features: ZoomLayer, _ index: Int) -> Bool {
      features.parts(index).contains { rings in
        rings.contains { ring in boxes.contains { $0.meets(ring.low, ring.high) } }
      }
    }
    var found: [FeaturesBeside] = []
    for (number, layer) in layers.enumerated() {
      guard case .features(let features) = layer.source else { continue }
      let projected = ZoomLayer(
        features, rules: [], icons: layer.icons, matrixSet: matrixSet, zoom: zoom, isKeeping: false)
      var beside: (count: Int, first: MapFeature)?
      for index in features.indices {
        try DrawingError.checkCancellation()
        if !shows(projected, index) { beside = ((beside?.count ?? 0) + 1, beside?.first ?? features[index]) }
      }
      guard let beside, let place = beside.first.geometry.firstPosition else { continue }
      let exchanged = ZoomLayer(
        [MapFeature(.points([SIMD2(place.y, place.x)]), properties: [:])], rules: [], icons: layer.icons,
        matrixSet: matrixSet, zoom: zoom, isKeeping: false)
      var name: String?
      if case .string(let text)? = beside.first.properties["name"] { name = text }
      found.append(
        FeaturesBeside(
          layer: number, count: beside.count, total: features.count, first: place, name: name,
          isExchanged: abs(place.x) <= 90 && shows(exchanged, 0)))
    }
    return found
  }
}

extension GeoJSONGeometry {
  fileprivate var firstPosition: SIMD2<Double>? {
    switch self {
    case .points(let points): points.first
    case .lines(let lines): lines.first?.first
    case .polygons(let polygons): polygons.first?.rings.first?.first
    case .collection(let parts): parts.lazy.compactMap(\.firstPosition).first
    }
  }
}
