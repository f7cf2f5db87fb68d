import TileIndex

/// What one file of the shelf holds: a whole region, or one of its parcels.
public struct ShelfPart: Hashable, Sendable, Codable, CustomStringConvertible {
  public let region: String
  /// The parcel's file, as the catalogue names it; nil for the whole region.
  public let parcel: String?

  public init(region: String, parcel: String? = nil) { (self.region, self.parcel) = (region, parcel) }

  public var description: String { parcel.map { "\(region) (\($0))" } ?? region }

  /// Where it lies in the shelf's folder.
  var fileName: String { parcel ?? "\(region).mbtiles" }

  /// Whether its names may be those of files: what apps ask for, and what an older version of this software has noted, was not looked at before.
  var isSafe: Bool {
    RegionManifest.isName(region)
      && parcel.map { RegionManifest.isName($0, bytesMax: 200) && $0.hasSuffix(".mbtiles") } ?? true
  }
}

/// How far a file has come on its way to the shelf.
public struct InstallProgress: Hashable, Sendable {
  public enum Phase: String, Sendable, Codable {
    /// Other downloads come first, here or on the account's other devices.
    case waiting
    /// What is on the disk from an earlier attempt is read and compared with its checksums.
    case checking
    case downloading
    /// The server or the network fails; it is tried again.
    case retrying
    /// The whole file is compared with its SHA-256.
    case verifying
    /// The new edition is made from the old one and the patch.
    case patching
    case installed
  }

  public let part: ShelfPart
  public let edition: String
  public let phase: Phase
  /// Of the file that is downloaded, which may be a patch.
  public let bytesDone: Int
  public let bytesTotal: Int
  /// Why it is tried again.
  public var complaint: String?

  /// 0 to 1.
  public var fraction: Double { bytesTotal > 0 ? Double(bytesDone) / Double(bytesTotal) : 1 }
}

/// Told of progress on any thread, many times a second.
public typealias ProgressHandler = @Sendable (InstallProgress) -> Void
