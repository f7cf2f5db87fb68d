import TileIndex

/// The progress of one file's install.
public struct InstallProgress: Hashable, Sendable {
  /// What an install does at the moment.
  public enum Phase: String, Sendable, Codable {
    /// Waits for other downloads, here or on the account's other devices, for a limit of the server's, or for a
    /// network that ``TransferPolicy`` allows.
    case waiting
    /// The bytes of an earlier attempt are compared with their checksums.
    case checking
    /// Bytes arrive.
    case downloading
    /// The server or the network failed; the request is repeated.
    case retrying
    /// The whole file is compared with its SHA-256.
    case verifying
    /// The new edition is made from the old one and the patch.
    case patching
    /// The new edition is in its place.
    case installed
  }

  /// What is installed.
  public let part: RegionPart
  /// The edition that it will have; empty while the server has not said it.
  public let edition: String
  /// What the install does at the moment.
  public let phase: Phase
  /// Bytes of the downloaded file, which may be a patch.
  public let bytesDone: Int
  /// The size of that file.
  public let bytesTotal: Int
  /// The rate of the last seconds; nil while it is not known, and when nothing is downloaded.
  public var bytesPerSecond: Double?
  /// Why the request is repeated, or what is waited for.
  public var complaint: String?

  /// A progress, also for previews and tests; sizes in bytes.
  public init(
    part: RegionPart, edition: String, phase: Phase, bytesDone: Int, bytesTotal: Int, bytesPerSecond: Double? = nil,
    complaint: String? = nil
  ) {
    (self.part, self.edition, self.phase) = (part, edition, phase)
    (self.bytesDone, self.bytesTotal) = (bytesDone, bytesTotal)
    (self.bytesPerSecond, self.complaint) = (bytesPerSecond, complaint)
  }

  /// 0 to 1.
  public var fraction: Double { bytesTotal > 0 ? Double(bytesDone) / Double(bytesTotal) : 1 }

  /// How long the rest of the download takes at this rate; nil while the rate is not known.
  public var secondsLeft: Double? {
    bytesPerSecond.flatMap { $0 > 0 ? Double(max(0, bytesTotal - bytesDone)) / $0 : nil }
  }
}

/// Called with progress on any thread, many times a second.
public typealias ProgressHandler = @Sendable (InstallProgress) -> Void

/// The rate of a download: the bytes of the last seconds, so that it follows the network, but does not flicker.
struct TransferPace {
  private static let secondsMax = 5.0
  private var samples: [(seconds: Double, bytes: Int)] = []

  /// - Parameters:
  ///   - bytes: what has arrived of the file altogether. A smaller number than before begins anew.
  ///   - seconds: of a clock that is never set.
  /// - Returns: bytes per second; nil at the first sample, and until a fifth of a second has passed.
  mutating func rate(of bytes: Int, at seconds: Double) -> Double? {
    if let last = samples.last, bytes < last.bytes { samples = [] }
    samples.append((seconds, bytes))
    // The sample before the window stays: a slow server's last answer may be older.
    while samples.count > 2, samples[1].seconds <= seconds - Self.secondsMax { samples.removeFirst() }
    // Hundreds of samples a second say no more than ten do.
    if samples.count > 2, samples[samples.count - 2].seconds - samples[samples.count - 3].seconds < 0.1 {
      samples.remove(at: samples.count - 2)
    }
    guard let first = samples.first, seconds - first.seconds >= 0.2 else { return nil }
    return Double(bytes - first.bytes) / (seconds - first.seconds)
  }

  /// Forgets what was: nothing arrives for a while.
  mutating func rest() { samples = [] }
}
