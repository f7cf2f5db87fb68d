public import TileIndex

/// The order in which a cache lets go of tiles.
public protocol EvictionPolicy: Sendable {
  /// How soon a tile is to go: the highest goes first. Called with the cache locked; it must not call the cache.
  ///
  /// - Parameters:
  ///   - age: the tile's place in the order of use: 0 was used last, near 1 longest ago.
  ///   - focuses: the maps that show tiles of the cache; none when nobody told.
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double

  /// True: all tiles are ranked anew for each one that goes, with an age of 0, O(n). Otherwise one ranking serves for a sixteenth of the tiles, or until a map moved.
  var isExact: Bool { get }
}

extension EvictionPolicy {
  public var isExact: Bool { false }
}

/// Least recently used first.
public struct LRUEviction: EvictionPolicy {
  public init() {}
  public func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double { age }
}

/// Far away and long unused first: the distance from the screen in halves of its side, a price for each zoom in between, and the age.
///
/// Tiles that are expected go last, the least urgent of them first. docs/prefetch.md has the figures behind the weights.
public struct DistanceEviction: EvictionPolicy {
  /// What a zoom counts, in halves of the screen.
  public var zoomWeight = 1.2
  /// What the longest unused tile counts more than the one used last.
  public var ageWeight = 0.5

  public init() {}

  public func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double {
    var nearest = focuses.isEmpty ? 0 : Double.infinity
    for focus in focuses {
      if let urgency = focus.wanted[tile] { return Self.expected + Double(urgency) }
      let (across, down) = focus.distance(to: tile)
      // Nearly the straight distance, without a root.
      let distance = max(across, down) + min(across, down) / 2
      nearest = min(nearest, distance + zoomWeight * Double(abs(focus.around.zoom - tile.zoom)))
    }
    return nearest + ageWeight * age
  }

  /// Below all ranks by distance.
  private static var expected: Double { -1e9 }
}
