import Foundation

/// What time it is: the system's, or a fixed one for tests (`--now`).
public struct LedgerClock: Sendable {
  /// Milliseconds since 1970.
  public let now: @Sendable () -> Int64

  public static let system = Self(now: { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) })

  public static func fixed(_ milliseconds: Int64) -> Self { Self(now: { milliseconds }) }
}
