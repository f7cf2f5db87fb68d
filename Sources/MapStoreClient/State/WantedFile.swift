import TileIndex

/// A bundle that lies on the shelf, whole and verified.
public struct InstalledFile: Hashable, Sendable, Codable {
  public let part: ShelfPart
  public let edition: String
  public let bytes: Int
  /// 64 hexadecimal digits in lower case.
  public let sha256: String
  /// The aggregate hash of its tiles, by which patches are chosen; nil for parcels.
  public let tilesHash: String?
  /// Milliseconds since 1970.
  public let installedAt: Int64
  public var usedAt: Int64
}

/// What is to be had: a file of the server's, and what it becomes.
struct WantedFile: Hashable, Sendable {
  enum Kind: String, Sendable { case bundle, parcel, patch }

  let part: ShelfPart
  let kind: Kind
  /// The edition that it is of, or leads to.
  let edition: String
  /// For a patch: the edition that it begins with.
  let fromEdition: String?
  /// The file that is downloaded.
  let bytes: Int
  let sha256: String
  /// The bundle that is installed in the end: the same file, or what the patch makes.
  let resultBytes: Int
  let resultSHA256: String
  let tilesHash: String?
}

/// A file on its way.
struct Download: Hashable, Sendable {
  enum State: String, Sendable {
    /// To be gone on with whenever there is a network.
    case fetching
    /// Somebody wants it to wait.
    case paused
    /// Complete and verified: from now on it only takes a rename.
    case switching
  }

  let id: Int
  let wanted: WantedFile
  var state: State
  /// The server's name for these bytes, if it gave one.
  var entityTag: String?

  /// Name in the folder of downloads.
  var partName: String { "\(id).part" }
  /// What is given the region's name at the end.
  var resultName: String { wanted.kind == .patch ? "\(id).new" : partName }
}

/// A range of a download that is on the disk.
struct Piece: Hashable, Sendable {
  let range: Range<Int>
  let sha256: String
}

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
