/// Rings and lines in degrees as rings and lines in pixels. Edges are straight in longitude and latitude (RFC 7946,
/// section 3.1.1), so long ones become curves.
package enum ProjectedRing {
  /// The largest distance between a projected edge and its curve, in pixels.
  private static let tolerance = 0.05
  private static let roundsMax = 12

  /// - Parameter project: maps longitudes and latitudes to pixels; NaN for points without an image.
  package static func pixels(
    _ ring: [SIMD2<Double>], project: (inout [SIMD2<Double>]) -> Void
  ) -> [SIMD2<Double>] {
    var degrees = pieces(ring)
    var pixels = degrees
    project(&pixels)
    var isOpen = [Bool](repeating: true, count: max(degrees.count - 1, 0))
    for _ in 0..<roundsMax {
      let open = isOpen.indices.filter { isOpen[$0] }
      guard !open.isEmpty else { break }
      let middles = open.map { (degrees[$0] + degrees[$0 + 1]) / 2 }
      var images = middles
      project(&images)
      var (newDegrees, newPixels, newOpen): ([SIMD2<Double>], [SIMD2<Double>], [Bool]) = ([], [], [])
      var k = 0
      for i in isOpen.indices {
        newDegrees.append(degrees[i])
        newPixels.append(pixels[i])
        guard isOpen[i] else {
          newOpen.append(false)
          continue
        }
        let away = images[k] - (pixels[i] + pixels[i + 1]) / 2
        if max(abs(away.x), abs(away.y)) > tolerance {
          newDegrees.append(middles[k])
          newPixels.append(images[k])
          newOpen += [true, true]
        } else {
          newOpen.append(false)
        }
        k += 1
      }
      newDegrees.append(degrees[degrees.count - 1])
      newPixels.append(pixels[pixels.count - 1])
      (degrees, pixels, isOpen) = (newDegrees, newPixels, newOpen)
    }
    return pixels
  }

  /// The ring with points added, so that edges are at most so long.
  package static func pieces(_ ring: [SIMD2<Double>], degreesMax: Double = 1) -> [SIMD2<Double>] {
    guard let first = ring.first else { return [] }
    var points = [first]
    for (a, b) in zip(ring, ring.dropFirst()) {
      let step = b - a
      let count = Int((max(abs(step.x), abs(step.y)) / degreesMax).rounded(.up))
      if count > 1 { for i in 1..<count { points.append(a + step * (Double(i) / Double(count))) } }
      points.append(b)
    }
    return points
  }
}

extension TileMatrixSet {
  /// The point in CRS units of a longitude, which may lie beyond ±180 and is not wrapped, and a latitude, which is
  /// clamped. In a fitted CRS all turns of the Earth are one, and places beyond its box have rough points.
  package func unwrappedPoint(_ degrees: SIMD2<Double>) -> SIMD2<Double> {
    if case .fitted(let crs) = projection { return crs.point(longitude: degrees.x, latitude: degrees.y) }
    let box = BoundingBox(west: degrees.x, south: degrees.y, east: degrees.x, north: degrees.y)
    let point = crsBounds(ofGeographicBounds: box)
    return SIMD2(point.west, min(max(point.south, boundingBox.south), boundingBox.north))
  }
}
