import RegionCatalog
import TileIndex

/// The lines in a fitted CRS, where meridians and parallels are curves that may leave the map on any side, and several
/// times.
extension Graticule {
  /// Points along a line; what it does between them at the edge of the map is not seen.
  private static let pointsPerLine = 128

  func curves(_ matrixSet: TileMatrixSet, zoom: Int, density: Double, _ frame: LabelFrame) -> [MapFeature] {
    let (matrix, box) = (matrixSet[zoom], frame.box(zoom))
    func pixel(_ place: SIMD2<Double>) -> SIMD2<Double> {
      matrix.pixelCoordinates(of: matrixSet.unwrappedPoint(place))
    }
    let (low, high) = (matrix.point(atPixel: box.low), matrix.point(atPixel: box.high))
    let shown = matrixSet.openGeographicBounds(
      ofCRSBounds: BoundingBox(west: low.x, south: high.y, east: high.x, north: low.y))
    guard shown.width > 0, shown.height > 0 else { return [] }
    let step = step(of: shown, scale: Self.scale(at: matrixSet, matrix, box), density: density)
    guard shown.width / step + shown.height / step < Double(Self.linesMax) else { return [] }
    var features: [MapFeature] = []
    for isMeridian in [true, false] {
      let (from, to) = isMeridian ? (shown.west, shown.east) : (shown.south, shown.north)
      let (start, end) = isMeridian ? (shown.south, shown.north) : (shown.west, shown.east)
      let (first, last) = (Int((from / step).rounded(.up)), Int((to / step).rounded(.down)))
      guard first <= last else { continue }
      for number in first...last {
        let value = Double(number) * step
        // A turn has one meridian less, and a pole is no line.
        if isMeridian ? value >= shown.west + 360 : abs(value) > 90 - 1e-9 { continue }
        let axis = StyleValue.string(isMeridian ? "longitude" : "latitude")
        let seconds = (value * 3600).rounded()
        let label = Self.label(seconds: Int(seconds), isMeridian: isMeridian)
        let places = (0...Self.pointsPerLine).map { index in
          let other = start + (end - start) * (Double(index) / Double(Self.pointsPerLine))
          return isMeridian ? SIMD2(value, other) : SIMD2(other, value)
        }
        for run in Self.runs(places, in: box, pixel) {
          features.append(
            MapFeature(.lines([run.places]), properties: ["axis": axis, "degrees": .number(seconds / 3600)]))
          for place in run.ends {
            let edge = Self.edge(of: pixel(place), in: box)
            features.append(
              MapFeature(
                .points([place]), properties: ["axis": axis, "label": .string(label), "edge": .string(edge)]))
          }
        }
      }
    }
    return features
  }

  /// Pixels of a degree of longitude and of latitude in the middle of the map, or a little beside it.
  private static func scale(at matrixSet: TileMatrixSet, _ matrix: TileMatrix, _ box: PixelBox) -> SIMD2<Double> {
    let middle = matrixSet.coordinate(of: matrix.point(atPixel: (box.low + box.high) / 2))
    let latitude = min(max(middle.latitude, -75), 75)
    let metres = 111_320 / matrixSet.metresPerUnit / matrix.cellSize
    return SIMD2(metres * (90 - abs(latitude)) / 90, metres)
  }

  private func step(of shown: BoundingBox, scale: SIMD2<Double>, density: Double) -> Double {
    let least = min(scale.x, scale.y) / density
    let wanted = Self.steps.last { Double($0) / 3600 * least >= Self.distanceMin }
    return Double(max(interval.map { Int(($0 * 3600).rounded()) } ?? wanted ?? Self.steps[0], 1)) / 3600
  }

  /// The parts of a line in a box, and the places where they cross its edge.
  private static func runs(
    _ places: [SIMD2<Double>], in box: PixelBox, _ pixel: (SIMD2<Double>) -> SIMD2<Double>
  ) -> [(places: [SIMD2<Double>], ends: [SIMD2<Double>])] {
    var runs: [(places: [SIMD2<Double>], ends: [SIMD2<Double>])] = []
    var isOpen = false
    for (index, place) in places.enumerated() {
      let isInside = box.contains(pixel(place))
      if isInside != isOpen {
        var crossing = place
        if index > 0 {
          var (inside, outside) = isInside ? (place, places[index - 1]) : (places[index - 1], place)
          for _ in 0..<40 {
            let middle = (inside + outside) / 2
            if box.contains(pixel(middle)) { inside = middle } else { outside = middle }
          }
          crossing = inside
        }
        if isInside {
          // A line that begins in the box begins at a pole, or goes once around it.
          runs.append((places: [crossing], ends: index > 0 ? [crossing] : []))
        } else {
          runs[runs.count - 1].places.append(crossing)
          runs[runs.count - 1].ends.append(crossing)
        }
      }
      if isInside { runs[runs.count - 1].places.append(place) }
      isOpen = isInside
    }
    return runs
  }

  /// The edge of a box that a point is nearest to.
  private static func edge(of point: SIMD2<Double>, in box: PixelBox) -> String {
    let distances = [
      ("top", point.y - box.low.y), ("bottom", box.high.y - point.y), ("left", point.x - box.low.x),
      ("right", box.high.x - point.x),
    ]
    return distances.min { $0.1 < $1.1 }!.0
  }
}
