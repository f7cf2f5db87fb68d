import TileIndex

/// Some ground that somebody wants a map of.
public enum MapGround: Hashable, Sendable {
  /// Degrees.
  case point(longitude: Double, latitude: Double)
  /// Degrees; a west greater than the east crosses the antimeridian.
  case box(BoundingBox)
  case track(Track)
}

/// A file that has tiles of some ground.
public struct CoveringFile: Hashable, Sendable, Codable {
  public enum Kind: String, Hashable, Sendable, Codable {
    /// All of a region, which is not split.
    case whole
    /// A parcel with coarser levels.
    case overview
    /// A parcel with the finest levels.
    case detail
  }

  /// The region's id.
  public let region: String
  public let file: String
  public let bytes: Int
  public let sha256: String
  public let zooms: ClosedRange<Int>
  public let kind: Kind
}

extension Catalogue.Region {
  /// The files that a device needs for some ground: the parcels, overview first, or the whole bundle of a region that is not split. None where the region does
  /// not reach: its overview's tiles may cover the whole world, its map does not.
  ///
  /// - Complexity: as of ``ParcelIndex``, which answers many questions about one region more quickly.
  public func files(covering ground: MapGround) -> [CoveringFile] {
    guard meets(ground) else { return [] }
    guard !parcels.isEmpty else {
      return [
        CoveringFile(region: id, file: file, bytes: bytes, sha256: sha256, zooms: minzoom...maxzoom, kind: .whole)
      ]
    }
    let index = ParcelIndex(self)
    let found =
      switch ground {
      case .point(let longitude, let latitude): index.parcels(longitude: longitude, latitude: latitude)
      case .box(let box): index.parcels(in: box)
      case .track(let track): index.parcels(along: track)
      }
    return found.map { number in
      let parcel = parcels[number]
      return CoveringFile(
        region: id, file: parcel.file, bytes: parcel.bytes, sha256: parcel.sha256, zooms: parcel.zooms,
        kind: parcel.isOverview ? .overview : .detail)
    }
  }

  /// Whether the ground lies in the region's bounds, as far as boxes can tell.
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
      // The one tile that is as large as the region is met, or not, by the same way as parcels are.
      let zoom = matrixSet.zooms.last { zoom in
        matrixSet.ranges(covering: boundingBox, zoom: zoom).reduce(0) { $0 + $1.count } <= 64
      }
      let tiles = Set(matrixSet.ranges(covering: boundingBox, zoom: zoom ?? 0).joined())
      return !track.tiles(zoom: zoom ?? 0, in: matrixSet).isDisjoint(with: tiles)
    }
  }
}
