import Foundation
import Support

/// What time it is: the system's, or a fixed one for tests (`--now`).
public struct LedgerClock: Sendable {
  /// Milliseconds since 1970.
  public let now: @Sendable () -> Int64

  public static let system = Self(now: WallClock.now)

  public static func fixed(_ milliseconds: Int64) -> Self { Self(now: { milliseconds }) }
}
