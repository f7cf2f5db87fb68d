import RegionCatalog
import TileIndex

/// The contents of one installed file: a whole region, or one of its tile packs.
public struct RegionPart: Hashable, Sendable, Codable, CustomStringConvertible {
  public let region: String
  /// The tile pack's file name in the catalogue; nil for the whole region.
  public let pack: String?

  public init(region: String, pack: String? = nil) { (self.region, self.pack) = (region, pack) }

  public var description: String { pack.map { "\(region) (\($0))" } ?? region }

  /// The file's name in the folder of regions.
  var fileName: String { pack ?? "\(region).mbtiles" }

  /// Whether the names are safe as file names: those from apps, and from the state of older versions, are not checked
  /// elsewhere.
  var isSafe: Bool {
    RegionManifest.isName(region)
      && pack.map { RegionManifest.isName($0, bytesMax: 200) && $0.hasSuffix(".mbtiles") } ?? true
  }
}

/// The progress of one file's install.
public struct InstallProgress: Hashable, Sendable {
  public enum Phase: String, Sendable, Codable {
    /// Waits for other downloads, here or on the account's other devices.
    case waiting
    /// The bytes of an earlier attempt are compared with their checksums.
    case checking
    case downloading
    /// The server or the network failed; the request is repeated.
    case retrying
    /// The whole file is compared with its SHA-256.
    case verifying
    /// The new edition is made from the old one and the patch.
    case patching
    case installed
  }

  public let part: RegionPart
  public let edition: String
  public let phase: Phase
  /// Bytes of the downloaded file, which may be a patch.
  public let bytesDone: Int
  public let bytesTotal: Int
  /// Why the request is repeated.
  public var complaint: String?

  /// 0 to 1.
  public var fraction: Double { bytesTotal > 0 ? Double(bytesDone) / Double(bytesTotal) : 1 }
}

/// Called with progress on any thread, many times a second.
public typealias ProgressHandler = @Sendable (InstallProgress) -> Void
