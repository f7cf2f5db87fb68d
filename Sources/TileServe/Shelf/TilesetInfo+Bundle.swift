import Gazetteer
import TileIndex

extension TilesetInfo {
  /// Reads what a bundle says, and finds out the rest from its tiles. Blocks.
  ///
  /// - Throws: `BundleError`; ``ServeError`` with `.unavailable` for a bundle without tiles.
  init(id: String, modified: Int, _ bundle: any BundleReader) throws {
    let metadata = bundle.metadata
    let matrixSet = bundle.matrixSet
    let zooms = try bundle.zooms()
    guard let first = zooms.first, let last = zooms.last, let finest = try bundle.range(zoom: last) else {
      throw ServeError(.unavailable, "\(BundlePlaces.name(bundle.path)): has no tiles, so there is nothing to serve")
    }
    let sample = try Self.anyTile(of: bundle, zoom: first)
    guard let format = sample?.format ?? metadata.format else {
      throw ServeError(
        .unavailable,
        "\(BundlePlaces.name(bundle.path)): its tiles are neither PNG, JPEG, WebP nor gzipped vector tiles, and it does not say what they are"
      )
    }
    let corners = (
      TileID(unchecked: last, finest.columns.lowerBound, finest.rows.lowerBound),
      TileID(unchecked: last, finest.columns.upperBound, finest.rows.upperBound)
    )
    let covered = matrixSet.geographicBounds(of: corners.0).union(matrixSet.geographicBounds(of: corners.1))
    let bounds = metadata.bounds.flatMap(Self.sensible) ?? covered
    let tilePixels = matrixSet[first].tileWidth
    self.init(
      id: id, name: metadata.name.flatMap { $0.isEmpty ? nil : $0 } ?? id, metadata: metadata, matrixSet: matrixSet,
      format: format, zooms: first...last, bounds: bounds,
      center: Self.center(metadata.center, bounds: bounds, zooms: first...last),
      tilePixels: sample?.pixels ?? tilePixels, modified: modified,
      // One whose places cannot be read is still a map.
      hasPlaces: (try? PlaceIndex(bundle)) != nil)
  }

  private static func anyTile(of bundle: any BundleReader, zoom: Int) throws -> (format: TileFormat?, pixels: Int?)? {
    guard let range = try bundle.range(zoom: zoom) else { return nil }
    // Tiles of a sparse level may be anywhere in its rectangle; a look at some will do.
    for tile in range.prefix(1024) {
      let found = try bundle.withTile(tile) { bytes in
        (format: TileFormat(sniffing: bytes), pixels: ImageHeader(bytes)?.width)
      }
      if let found { return found }
    }
    return nil
  }

  private static func sensible(_ box: BoundingBox) -> BoundingBox? {
    guard box.west < box.east, box.south < box.north, abs(box.south) <= 90, abs(box.north) <= 90,
      abs(box.west) <= 540, abs(box.east) <= 540
    else { return nil }
    return box
  }

  private static func center(
    _ stored: BundleMetadata.Center?, bounds: BoundingBox, zooms: ClosedRange<Int>
  ) -> BundleMetadata.Center {
    if let stored, abs(stored.latitude) <= 90, abs(stored.longitude) <= 540 {
      let zoom = min(max(stored.zoom, zooms.lowerBound), zooms.upperBound)
      return BundleMetadata.Center(longitude: stored.longitude, latitude: stored.latitude, zoom: zoom)
    }
    return BundleMetadata.Center(
      longitude: (bounds.west + bounds.east) / 2, latitude: (bounds.south + bounds.north) / 2,
      zoom: (zooms.lowerBound + zooms.upperBound) / 2)
  }
}
