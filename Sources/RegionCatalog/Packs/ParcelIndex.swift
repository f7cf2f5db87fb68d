public import TileIndex

/// Answers which parcels of a region a place needs, from the catalogue alone.
///
/// Every answer is a list of positions in the region's `parcels`, rising: the overview before the details. It names all parcels with tiles there, from the coarsest
/// zoom to the finest.
public struct ParcelIndex: Sendable {
  private let matrixSet: TileMatrixSet
  private let parcels: [TileID: Int]
  /// Zooms that have roots, rising.
  private let zooms: [Int]

  /// - Complexity: O(roots).
  public init(_ region: Catalogue.Region) {
    matrixSet = region.matrixSet
    var parcels: [TileID: Int] = [:]
    for (index, parcel) in region.parcels.enumerated() {
      for root in parcel.rootTiles { parcels[root] = index }
    }
    self.parcels = parcels
    zooms = Set(parcels.keys.map(\.zoom)).sorted()
  }

  /// The parcel that has a tile, if the region has the tile: the one with the deepest root above it. Nil where no parcel is in charge.
  ///
  /// - Complexity: O(zooms).
  public func parcel(of tile: TileID) -> Int? {
    var tile: TileID? = matrixSet.contains(tile) ? tile : nil
    while let one = tile {
      if let parcel = parcels[one] { return parcel }
      tile = matrixSet.parent(of: one)
    }
    return nil
  }

  /// The parcels at a place in degrees.
  ///
  /// - Complexity: O(zooms).
  public func parcels(longitude: Double, latitude: Double) -> [Int] {
    found { zoom in matrixSet.tile(longitude: longitude, latitude: latitude, zoom: zoom).map { [$0] } ?? [] }
  }

  /// The parcels that a box in degrees meets; a west greater than the east crosses the antimeridian.
  ///
  /// - Complexity: O(roots).
  public func parcels(in box: BoundingBox) -> [Int] {
    found { zoom in
      let ranges = matrixSet.ranges(covering: box, zoom: zoom)
      return parcels.keys.filter { root in ranges.contains { $0.contains(root) } }
    }
  }

  /// The parcels that a track passes. Between two points it goes straight in the grid's projection, across the antimeridian where that is nearer.
  ///
  /// - Complexity: O(points and root tiles passed).
  public func parcels(along track: Track) -> [Int] {
    found { track.tiles(zoom: $0, in: matrixSet) }
  }

  private func found(_ tiles: (Int) -> some Sequence<TileID>) -> [Int] {
    Set(zooms.flatMap { zoom in tiles(zoom).compactMap { parcels[$0] } }).sorted()
  }
}
