import LibC
import RegionCatalog
import TileIndex

extension CatalogSnapshot {
  /// Other regions for sale, by their distance from the middle of a region; of those that have it inside, the ones of a
  /// similar size first. A region across the world is not related.
  ///
  /// - Complexity: O(regions), and an outline's edges for those whose boxes are near.
  func related(to index: Int, count: Int) -> [Int] {
    let middle = outlines[index].middle
    let own = outlines[index].squareKilometres
    let reach = max(4 * own.squareRoot() * 1000, Self.reachMin)
    let near = regions.indices.filter {
      $0 != index && isForSale[$0] && outlines[$0].metresToBox(from: middle) <= reach
    }
    let ranked = near.map { other -> (metres: Double, difference: Double, index: Int) in
      let metres = outlines[other].metres(from: middle)
      return (metres, abs(log(max(outlines[other].squareKilometres, 1e-6) / max(own, 1e-6))), other)
    }
    return ranked.sorted { ($0.metres, $0.difference, $0.index) < ($1.metres, $1.difference, $1.index) }
      .prefix(count).map(\.index)
  }

  private static let reachMin = 100_000.0
}

extension RegionOutline {
  /// The middle of the box around the outline.
  var middle: Place {
    Place(
      longitude: TileMatrixSet.wrapped((extent.west + extent.east) / 2),
      latitude: (extent.south + extent.north) / 2)
  }

  /// The area of the outline, holes left out, or of the box of a region without one; on the sphere.
  var squareKilometres: Double {
    let radius = 6371.0
    guard !rings.isEmpty else {
      let width = (extent.east - extent.west) * .pi / 180
      let height = sin(extent.north * .pi / 180) - sin(extent.south * .pi / 180)
      return radius * radius * width * height
    }
    // A ring's area on the cylinder of the same area (Lambert's), where it is that of a polygon.
    func area(_ ring: RegionBoundary.Ring) -> Double {
      var sum = 0.0
      for (a, b) in zip(ring, ring.dropFirst()) {
        sum += (b.x - a.x) * .pi / 180 * (sin(a.y * .pi / 180) + sin(b.y * .pi / 180)) / 2
      }
      return abs(sum) * radius * radius
    }
    return polygons.reduce(0) { total, polygon in
      total + polygon.dropFirst().reduce(polygon.first.map(area) ?? 0) { $0 - area($1) }
    }
  }
}
