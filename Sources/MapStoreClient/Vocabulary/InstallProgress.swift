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
