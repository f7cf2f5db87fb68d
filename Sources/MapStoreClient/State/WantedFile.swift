import RegionCatalog
import TileIndex

/// An installed bundle: complete and verified.
public struct InstalledFile: Hashable, Sendable, Codable {
  /// What it is.
  public let part: RegionPart
  /// Its edition.
  public let edition: String
  /// Its size.
  public let bytes: Int
  /// 64 hexadecimal digits in lower case.
  public let sha256: String
  /// The aggregate hash of its tiles, by which patches are chosen; nil for tile packs.
  public let tilesHash: String?
  /// Milliseconds since 1970.
  public let installedAt: Int64
  /// When it was last in use: milliseconds since 1970.
  public var usedAt: Int64

  /// An installed bundle, also for previews and tests.
  ///
  /// - Parameters:
  ///   - bytes: the size of the file.
  ///   - sha256: 64 hexadecimal digits in lower case.
  ///   - installedAt: milliseconds since 1970.
  ///   - usedAt: milliseconds since 1970; nil for the time of the install.
  package init(
    part: RegionPart, edition: String, bytes: Int, sha256: String, tilesHash: String? = nil, installedAt: Int64,
    usedAt: Int64? = nil
  ) {
    (self.part, self.edition, self.bytes) = (part, edition, bytes)
    (self.sha256, self.tilesHash) = (sha256, tilesHash)
    (self.installedAt, self.usedAt) = (installedAt, usedAt ?? installedAt)
  }
}

/// A file to download, and the bundle that it becomes.
struct WantedFile: Hashable, Sendable {
  enum Kind: String, Sendable { case bundle, pack, patch }

  let part: RegionPart
  let kind: Kind
  /// The edition that the file belongs to, or leads to.
  let edition: String
  /// For a patch: the edition that it applies to.
  let fromEdition: String?
  /// The downloaded file.
  let bytes: Int
  let sha256: String
  /// The installed bundle: the same file, or the result of the patch.
  let resultBytes: Int
  let resultSHA256: String
  let tilesHash: String?
}

/// A recorded download.
struct Download: Hashable, Sendable {
  enum State: String, Sendable {
    /// Continues whenever there is a network.
    case fetching
    /// Paused by the user.
    case paused
    /// Complete and verified: only the rename is left.
    case switching
  }

  let id: Int
  let wanted: WantedFile
  var state: State
  /// The server's entity tag of the file, if it has one.
  var entityTag: String?

  /// The file's name in the folder of downloads.
  var partName: String { "\(id).part" }
  /// The file that replaces the installed one: for a patch, its result.
  var resultName: String { wanted.kind == .patch ? "\(id).new" : partName }
}

/// A range of a download that is on the disk.
struct Piece: Hashable, Sendable {
  let range: Range<Int>
  let sha256: String
}

/// Makes ``WantedFile``s from a region of the catalogue.
enum InstallPlan {
  /// The whole bundle.
  static func whole(_ region: Catalog.Region) -> WantedFile {
    WantedFile(
      part: RegionPart(region: region.id), kind: .bundle, edition: region.edition, fromEdition: nil,
      bytes: region.bytes,
      sha256: region.sha256, resultBytes: region.bytes, resultSHA256: region.sha256, tilesHash: region.tilesHash)
  }

  /// The smallest patch from the installed edition, if there is one that is smaller than the whole bundle.
  static func patch(_ region: Catalog.Region, from installed: InstalledFile) -> WantedFile? {
    let fitting = region.patches.filter {
      $0.fromEdition == installed.edition && $0.bytes < region.bytes
        && (installed.tilesHash == nil || $0.fromTilesHash == installed.tilesHash)
    }
    guard let patch = fitting.min(by: { $0.bytes < $1.bytes }) else { return nil }
    return WantedFile(
      part: RegionPart(region: region.id), kind: .patch, edition: region.edition, fromEdition: installed.edition,
      bytes: patch.bytes, sha256: patch.sha256, resultBytes: region.bytes, resultSHA256: region.sha256,
      tilesHash: region.tilesHash)
  }

  static func pack(_ region: Catalog.Region, file: String) -> WantedFile? {
    guard let pack = region.packs.first(where: { $0.file == file }) else { return nil }
    return WantedFile(
      part: RegionPart(region: region.id, pack: file), kind: .pack, edition: region.edition, fromEdition: nil,
      bytes: pack.bytes, sha256: pack.sha256, resultBytes: pack.bytes, resultSHA256: pack.sha256, tilesHash: nil
    )
  }
}
