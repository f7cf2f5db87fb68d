public import TileIndex

/// Finds the tile packs of a region for a point, box or track, from the catalogue alone.
///
/// Results are ascending indexes into the region's `packs`, overviews before details: all packs with tiles there, from
/// the coarsest zoom to the finest.
public struct TilePackIndex: Sendable {
  private let matrixSet: TileMatrixSet
  private let packs: [TileID: Int]
  /// Zooms that have roots, in ascending order.
  private let zooms: [Int]

  /// The index of a region's packs.
  ///
  /// - Complexity: O(roots).
  public init(_ region: Catalog.Region) {
    matrixSet = region.matrixSet
    var packs: [TileID: Int] = [:]
    for (index, pack) in region.packs.enumerated() {
      for root in pack.rootTiles { packs[root] = index }
    }
    self.packs = packs
    zooms = Set(packs.keys.map(\.zoom)).sorted()
  }

  /// The pack that has a tile, if the region has the tile: the one with the deepest root above it. Nil when no pack
  /// covers it.
  ///
  /// - Complexity: O(zooms).
  package func pack(of tile: TileID) -> Int? {
    var tile: TileID? = matrixSet.contains(tile) ? tile : nil
    while let one = tile {
      if let pack = packs[one] { return pack }
      tile = matrixSet.parent(of: one)
    }
    return nil
  }

  /// The packs at a position in degrees.
  ///
  /// - Complexity: O(zooms).
  public func packs(longitude: Double, latitude: Double) -> [Int] {
    found { zoom in matrixSet.tile(longitude: longitude, latitude: latitude, zoom: zoom).map { [$0] } ?? [] }
  }

  /// The packs that a box in degrees intersects; a west greater than the east crosses the antimeridian.
  ///
  /// - Complexity: O(roots).
  public func packs(in box: BoundingBox) -> [Int] {
    found { zoom in
      let ranges = matrixSet.ranges(covering: box, zoom: zoom)
      return packs.keys.filter { root in ranges.contains { $0.contains(root) } }
    }
  }

  /// The packs that a track crosses. Segments are straight in the grid's projection, and cross the antimeridian where
  /// that is shorter.
  ///
  /// - Complexity: O(points and root tiles crossed).
  public func packs(along track: Track) -> [Int] {
    found { track.tiles(zoom: $0, in: matrixSet) }
  }

  private func found(_ tiles: (Int) -> some Sequence<TileID>) -> [Int] {
    Set(zooms.flatMap { zoom in tiles(zoom).compactMap { packs[$0] } }).sorted()
  }
}

/// The area, position or track to find files for.
public enum MapGround: Hashable, Sendable {
  /// Degrees.
  case point(longitude: Double, latitude: Double)
  /// Degrees; a west greater than the east crosses the antimeridian.
  case box(BoundingBox)
  /// Along a track.
  case track(Track)
}

/// A file with the tiles of an area.
public struct CoveringFile: Hashable, Sendable, Codable {
  /// What a file has of a region.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// A whole region, which is not split.
    case whole
    /// A tile pack with coarser levels.
    case overview
    /// A tile pack with the finest levels.
    case detail
  }

  /// The region's id.
  public let region: String
  /// The name of the file in the catalogue's folder.
  public let file: String
  /// The size of the file.
  public let bytes: Int
  /// Of the file: 64 hexadecimal digits in lower case.
  public let sha256: String
  /// The zooms that it has.
  public let zooms: ClosedRange<Int>
  /// What it has of the region.
  public let kind: Kind
}

extension Catalog.Region {
  /// The files that a device needs for an area: tile packs, overviews first, or the whole bundle of a region that is
  /// not split. None outside the region's bounds, even where its overview's tiles extend further.
  ///
  /// - Complexity: that of building a ``TilePackIndex``; use one directly for many queries about one region.
  public func files(covering ground: MapGround) -> [CoveringFile] {
    guard meets(ground) else { return [] }
    guard !packs.isEmpty else {
      return [
        CoveringFile(region: id, file: file, bytes: bytes, sha256: sha256, zooms: minzoom...maxzoom, kind: .whole)
      ]
    }
    let index = TilePackIndex(self)
    let found =
      switch ground {
      case .point(let longitude, let latitude): index.packs(longitude: longitude, latitude: latitude)
      case .box(let box): index.packs(in: box)
      case .track(let track): index.packs(along: track)
      }
    return found.map { number in
      let pack = packs[number]
      return CoveringFile(
        region: id, file: pack.file, bytes: pack.bytes, sha256: pack.sha256, zooms: pack.minzoom...pack.maxzoom,
        kind: pack.isOverview ? .overview : .detail)
    }
  }

  /// Whether the ground intersects the region's bounds.
  private func meets(_ ground: MapGround) -> Bool {
    switch ground {
    case .point(let longitude, let latitude):
      let place = SIMD2(TileMatrixSet.wrapped(longitude), latitude)
      return TileMatrixSet.splitAtAntimeridian(boundingBox).contains { $0.contains(place) }
    case .box(let box):
      let parts = TileMatrixSet.splitAtAntimeridian(box)
      return TileMatrixSet.splitAtAntimeridian(boundingBox).contains { own in
        parts.contains { own.intersection($0) != nil }
      }
    case .track(let track):
      // A zoom at which few tiles cover the region; the track is tested against them as against packs.
      let zoom = matrixSet.zooms.last { zoom in
        matrixSet.ranges(covering: boundingBox, zoom: zoom).reduce(0) { $0 + $1.count } <= 64
      }
      let tiles = Set(matrixSet.ranges(covering: boundingBox, zoom: zoom ?? 0).joined())
      return !track.tiles(zoom: zoom ?? 0, in: matrixSet).isDisjoint(with: tiles)
    }
  }
}
