public import TileIndex

/// The order in which a cache lets go of tiles.
public protocol EvictionPolicy: Sendable {
  /// How soon a tile is to go: the highest goes first. Called with the cache locked; it must not call the cache.
  ///
  /// - Parameters:
  ///   - age: the tile's place in the order of use: 0 was used last, near 1 longest ago.
  ///   - focuses: the maps that show tiles of the cache; none when nobody told.
  func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double

  /// True: all tiles are ranked anew for each one that goes, O(n). Otherwise one ranking serves for a sixteenth of the tiles, or until a map moved.
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
public struct DistanceEviction: EvictionPolicy {
  /// What a zoom counts, in halves of the screen.
  public var zoomWeight = 0.9
  /// What the longest unused tile counts more than the one used last.
  public var ageWeight = 1.5

  public init() {}

  public func rank(of tile: TileID, age: Double, focuses: [MapFocus]) -> Double {
    var nearest = focuses.isEmpty ? 0 : Double.infinity
    for focus in focuses {
      let wanted = focus.wanted[tile] != nil
      let distance =
        wanted ? -1000 : focus.distance(to: tile) + zoomWeight * Double(abs(focus.visible.zoom - tile.zoom))
      nearest = min(nearest, distance)
    }
    return nearest + ageWeight * age
  }
}
