public import Support

/// How a shelf behaves.
public struct ShelfOptions: Sendable {
  /// The most bytes that installed regions may take together; nil for no limit but the disk.
  public var quotaBytes: Int?
  /// What is to stay free on the disk.
  public var reserveBytes = 64_000_000
  /// Files that are downloaded at the same time; others wait.
  public var downloadsMax = 3
  /// After so many bytes a download is put on the disk and its checksum noted: what a kill can cost at most.
  public var pieceBytes = 4 << 20
  /// The most bytes a second that each download takes of the network; nil for all that it can get.
  public var bytesPerSecondMax: Int?
  public var retry = RetryRule()
  public var clock = ShelfClock()
  /// Free bytes at a path; the system's answer unless replaced.
  public var freeBytes: @Sendable (String) throws -> Int = DiskSpace.freeBytes
  /// Called as a step of an install has been made; tests end the process there.
  package var onStep: @Sendable (InstallStep) -> Void = { _ in }

  public init() {}
}

/// The steps after which an install can be cut off, in their order; docs/device.md says what each leaves behind.
package enum InstallStep: Int, Sendable, CaseIterable {
  case planned = 1
  case pieceRecorded, received, verified, patched, switchNoted, renamed, recorded, cleaned
}

/// What time it is.
public struct ShelfClock: Sendable {
  /// Milliseconds since 1970.
  public var now: @Sendable () -> Int64

  public init(now: @escaping @Sendable () -> Int64 = WallClock.now) { self.now = now }
}
