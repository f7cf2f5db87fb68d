package import TileIndex

/// Tiles in the order in which they were added, each once.
package struct OrderedTiles: Sendable {
  package private(set) var tiles: [TileID] = []
  private var known: Set<TileID> = []

  package init() {}

  package var count: Int { tiles.count }

  package mutating func add(_ tile: TileID) {
    if known.insert(tile).inserted { tiles.append(tile) }
  }

  package mutating func add(_ more: some Sequence<TileID>) {
    for tile in more { add(tile) }
  }

  package func contains(_ tile: TileID) -> Bool { known.contains(tile) }
}
