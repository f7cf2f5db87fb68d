import RegionCatalog
import TileIndex

/// Which file leads to what is wanted.
enum InstallPlan {
  /// The whole bundle.
  static func whole(_ region: Catalogue.Region) -> WantedFile {
    WantedFile(
      part: ShelfPart(region: region.id), kind: .bundle, edition: region.edition, fromEdition: nil, bytes: region.bytes,
      sha256: region.sha256, resultBytes: region.bytes, resultSHA256: region.sha256, tilesHash: region.tilesHash)
  }

  /// The patch from what is installed, where there is one that is smaller than the whole.
  static func patch(_ region: Catalogue.Region, from installed: InstalledFile) -> WantedFile? {
    let fitting = region.patches.filter {
      $0.fromEdition == installed.edition && $0.bytes < region.bytes
        && (installed.tilesHash == nil || $0.fromTilesHash == installed.tilesHash)
    }
    guard let patch = fitting.min(by: { $0.bytes < $1.bytes }) else { return nil }
    return WantedFile(
      part: ShelfPart(region: region.id), kind: .patch, edition: region.edition, fromEdition: installed.edition,
      bytes: patch.bytes, sha256: patch.sha256, resultBytes: region.bytes, resultSHA256: region.sha256,
      tilesHash: region.tilesHash)
  }

  static func parcel(_ region: Catalogue.Region, file: String) -> WantedFile? {
    guard let parcel = region.parcels.first(where: { $0.file == file }) else { return nil }
    return WantedFile(
      part: ShelfPart(region: region.id, parcel: file), kind: .parcel, edition: region.edition, fromEdition: nil,
      bytes: parcel.bytes, sha256: parcel.sha256, resultBytes: parcel.bytes, resultSHA256: parcel.sha256, tilesHash: nil
    )
  }
}
