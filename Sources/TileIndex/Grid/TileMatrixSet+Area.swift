#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension TileMatrixSet {
  /// The ground that a tile covers, in square metres, on a sphere of the earth's mean radius.
  public func area(of tile: TileID) -> Double {
    let box = geographicBounds(of: tile)
    let radius = 6_371_008.8
    let height = sin(box.north * (.pi / 180)) - sin(box.south * (.pi / 180))
    return radius * radius * (box.width * (.pi / 180)) * height
  }

  /// The tile of a coarser zoom, or the same, that a tile lies in.
  ///
  /// - Complexity: O(zooms between).
  package func ancestor(of tile: TileID, zoom: Int) -> TileID {
    var tile = tile
    while tile.zoom > zoom, let parent = parent(of: tile) { tile = parent }
    return tile
  }
}
