package import TileIndex

/// The order in which a cache evicts tiles.
package protocol EvictionPolicy: Sendable {
  /// The tile's rank: the highest is evicted first. Called with the cache locked, so it must not call the cache.
  ///
  /// - Parameters:
  ///   - age: the tile's position in the order of use: 0 is the most recently used tile, values near 1 the least
  ///     recently used.
  ///   - focuses: the maps that show tiles of the cache; empty when none was reported.
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double

  /// If true, all tiles are ranked again for each eviction, with an age of 0, O(n). Otherwise one ranking serves for a
  /// sixteenth of the tiles, or until a map moves.
  var isExact: Bool { get }
}

extension EvictionPolicy {
  package var isExact: Bool { false }
}

/// Evicts the least recently used tile first.
package struct LRUEviction: EvictionPolicy {
  /// A policy without settings.
  package init() {}
  package func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double { age }
}

/// Evicts far and long unused tiles first. A rank is the distance from the screen in halves of its side, plus a weight
/// for each zoom in between, plus the age.
///
/// Tiles that are planned to be loaded go last, the least urgent of them first. docs/explanation/prefetch.md has the
/// measurements behind the weights.
package struct DistanceEviction: EvictionPolicy {
  /// What a difference of one zoom adds, in halves of the screen.
  package var zoomWeight = 1.2
  /// What the least recently used tile has more than the most recently used one.
  package var ageWeight = 0.5

  /// A policy without settings.
  package init() {}

  package func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double {
    var nearest = focuses.isEmpty ? 0 : Double.infinity
    for focus in focuses {
      if let urgency = focus.wanted[tile] { return Self.expected + Double(urgency) }
      let (across, down) = focus.distance(to: tile)
      // Close to the Euclidean distance, without a square root.
      let distance = max(across, down) + min(across, down) / 2
      nearest = min(nearest, distance + zoomWeight * Double(abs(focus.around.zoom - tile.zoom)))
    }
    return nearest + ageWeight * age
  }

  /// Below all ranks by distance.
  private static var expected: Double { -1e9 }
}

/// What a cache knows about a map on a screen: where it is or is moving to, and which tiles its user will probably
/// want.
package struct MapFocus: Sendable {
  /// The tiles that the screen shows, or will show at the end of a movement with a known target.
  package var around: TileRange
  /// The planned tiles, each with its position in the order of urgency, 0 first.
  package var wanted: [TileID: Int]

  /// A range on the screen, and tiles elsewhere with their ranks, the most urgent being 0.
  package init(around: TileRange, wanted: [TileID: Int] = [:]) {
    self.around = around
    self.wanted = wanted
  }

  /// The distance between the centres of a tile and of the range, across and down, in halves of the range's longer
  /// side. Up to about 1 the tile is on the screen or next to it.
  ///
  /// A tile of another zoom counts by the ground that it covers.
  package func distance(to tile: TileID) -> (across: Double, down: Double) {
    let scale = Self.scale(around.zoom - tile.zoom)
    let columnMiddle = Double(around.columns.lowerBound + around.columns.upperBound + 1) / 2
    let rowMiddle = Double(around.rows.lowerBound + around.rows.upperBound + 1) / 2
    let unit = 2 / Double(max(around.columns.count, around.rows.count))
    return (
      abs((Double(tile.column) + 0.5) * scale - columnMiddle) * unit,
      abs((Double(tile.row) + 0.5) * scale - rowMiddle) * unit
    )
  }

  /// 2 to the power of a difference of zooms.
  private static func scale(_ zooms: Int) -> Double {
    zooms >= 0 ? Double(1 << min(zooms, 62)) : 1 / Double(1 << min(-zooms, 62))
  }
}
