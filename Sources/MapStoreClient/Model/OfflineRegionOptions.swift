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

/// How often and after which waits a request is made again. Times are seconds.
public struct RetryRule: Sendable {
  /// Attempts one after the other that bring nothing; one that brings bytes starts the count again.
  public var attemptsMax = 6
  /// The longest first wait; each further one may be twice as long.
  public var firstDelay = 0.5
  public var delayMax = 30.0
  /// A server that asks for a longer wait than this ends the work; it goes on from there another time.
  public var retryAfterMax = 120.0
  /// Without a byte for this long a connection counts as dead.
  public var idleMax = 30.0
  public var connectMax = 10.0

  public init() {}

  /// The wait before attempt `number`, counted from 1 for the first repetition. Anywhere between nothing and the doubled delay, so that many devices do not come back at once; on top of
  /// what the server asked for.
  func delay(_ number: Int, asked: Double? = nil) -> Double {
    let most = min(delayMax, firstDelay * Double(1 << min(max(number, 1) - 1, 20)))
    return (asked ?? 0) + Double.random(in: 0...most)
  }
}
