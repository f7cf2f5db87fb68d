public import Support

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
  public var freeBytes: @Sendable (String) throws -> Int = DiskSpace.freeBytes
  /// Called after each step of an install; tests kill the process there.
  package var onStep: @Sendable (InstallStep) -> Void = { _ in }

  /// No quota, 64 MB of reserve, three downloads at a time.
  public init() {}
}

/// The steps of an install, in order; docs/reference/device.md describes the state after a kill at each.
package enum InstallStep: Int, Sendable, CaseIterable {
  case planned = 1
  case pieceRecorded, received, verified, patched, switchNoted, renamed, recorded, cleaned
}

/// The device's clock; tests replace it.
public struct DeviceClock: Sendable {
  /// Milliseconds since 1970.
  public var now: @Sendable () -> Int64

  /// - Parameter now: returns milliseconds since 1970; the system's clock unless given.
  public init(now: @escaping @Sendable () -> Int64 = WallClock.now) { self.now = now }
}

/// How often and after which delays requests are repeated. Times are in seconds.
public struct RetryRule: Sendable {
  /// Successive attempts without progress; an attempt that brings bytes resets the count.
  public var attemptsMax = 6
  /// The longest first delay; each further one may be twice as long.
  public var firstDelay = 0.5
  /// The longest delay.
  public var delayMax = 30.0
  /// A longer `Retry-After` ends the operation; a later one continues from there.
  public var retryAfterMax = 120.0
  /// A connection without a byte for this long counts as dead.
  public var idleMax = 30.0
  /// A connection that is not made after this long counts as failed. `URLSession` has ``idleMax`` for that too.
  public var connectMax = 10.0

  /// Six attempts, half a second to half a minute apart.
  public init() {}

  /// The delay before repetition `number`, counted from 1: random between 0 and the doubled delay, so that many devices
  /// do not return at the same time, after what the server asked for.
  func delay(_ number: Int, asked: Double? = nil) -> Double {
    let most = min(delayMax, firstDelay * Double(1 << min(max(number, 1) - 1, 20)))
    return (asked ?? 0) + Double.random(in: 0...most)
  }
}
