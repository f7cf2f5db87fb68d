import Support

/// Options of ``OfflineRegionManager``.
public struct OfflineRegionOptions: Sendable {
  /// The most bytes of all installed regions together; nil for no limit.
  public var quotaBytes: Int?
  /// Disk space that stays free.
  public var reserveBytes = 64_000_000
  /// Concurrent downloads; further ones wait.
  public var downloadsMax = 3
  /// A download is flushed to the disk and its checksum recorded each time so many bytes have arrived: the most that a
  /// kill can lose.
  public var pieceBytes = 4 << 20
  /// The most bytes a second of each download; nil for no limit.
  public var bytesPerSecondMax: Int?
  /// Which networks downloads may use, and how many bytes. The app keeps it, to change it later.
  public var transfers = TransferControl()
  /// Fetches files; nil for the client's own connections.
  public var transport: (any FileTransport)?
  /// How often requests for files are repeated.
  public var retry = RetryRule()
  /// The device's clock.
  public var clock = DeviceClock()
  /// Returns the free bytes at a path; tests replace it.
  public var freeBytes: @Sendable (String) throws -> Int = { try FileSystem.freeBytes($0) ?? 0 }
  /// Called after each step of an install; tests kill the process there.
  package var onStep: @Sendable (InstallStep) -> Void = { _ in }

  /// The options with numbers that bytes and downloads can have: a quota or a reserve below nothing is none, and one
  /// download and one byte are the least.
  var limited: OfflineRegionOptions {
    var options = self
    options.quotaBytes = quotaBytes.map { max($0, 0) }
    options.reserveBytes = min(max(reserveBytes, 0), 1 << 60)
    options.downloadsMax = max(downloadsMax, 1)
    options.pieceBytes = max(pieceBytes, 1)
    options.bytesPerSecondMax = bytesPerSecondMax.map { max($0, 1) }
    options.retry = retry.limited
    return options
  }

  /// No quota, 64 MB of reserve, three downloads at a time.
  public init() {}
}

/// The steps of an install, in order; docs/reference/device.md describes the state after a kill at each.
package enum InstallStep: Int, Sendable, CaseIterable {
  case planned = 1
  case pieceRecorded, received, verified, patched, switchNoted, renamed, recorded, cleaned
}
