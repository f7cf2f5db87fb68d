public import TileIndex

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A tile of the screen that could not be loaded. The session tries it again, after a second at first and a minute at
/// most, as long as it is on the screen.
public struct TileFailure: Error, Sendable, CustomStringConvertible {
  /// The tile of the bundle.
  public let tileID: TileID
  /// What reading threw, a `BundleError`, or what the session's decoder threw. A `BundleError` with `.mismatch` for a
  /// tile that takes more than the session's budget.
  public let reason: any Error

  /// A failure, also for previews and tests.
  public init(tileID: TileID, reason: any Error) { (self.tileID, self.reason) = (tileID, reason) }

  public var description: String { "tile \(tileID): \(reason)" }
}

extension TileFailure: LocalizedError {
  /// What is wrong: a sentence for people.
  public var errorDescription: String? {
    (reason as? any LocalizedError)?.errorDescription ?? "The tile \(tileID) cannot be shown: \(reason)."
  }
  /// What to do about it, where the reason says it: a sentence for people.
  public var recoverySuggestion: String? { (reason as? any LocalizedError)?.recoverySuggestion }
}
