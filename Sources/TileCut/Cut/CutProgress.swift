import Synchronization

/// How far a cut has come.
public struct CutProgress: Sendable, Codable {
  /// Candidate tiles that are done, empty ones included.
  public let tilesDone: Int
  /// Candidate tiles in all.
  public let tilesTotal: Int
  /// Tiles handed to the bundle.
  public let tilesStored: Int
  /// Bytes of these tiles before deduplication.
  public let bytesStored: Int
  /// Since the cut began, in seconds.
  public let seconds: Double

  /// Candidate tiles done per second.
  public var tilesPerSecond: Double { seconds > 0 ? Double(tilesDone) / seconds : 0 }
  /// Seconds that the rest will take at the present rate; nil before anything is done.
  public var secondsLeft: Double? {
    tilesDone > 0 ? seconds / Double(tilesDone) * Double(tilesTotal - tilesDone) : nil
  }
}

/// What a finished cut has made.
public struct CutSummary: Sendable, Codable {
  /// The bundle's path.
  public let path: String
  /// Tiles in the bundle.
  public let tileCount: Int
  /// Tiles that differ from one another, the images that are stored.
  public let distinctTileCount: Int
  public let zoomMin: Int
  public let zoomMax: Int
  /// The bundle's size.
  public let fileBytes: Int
  public let seconds: Double
  /// What the user should know about the sources, each naming its file.
  public let warnings: [String]
}

/// Asks a running cut to stop; may be called from any thread or a signal handler's queue.
public final class CutCancellation: Sendable {
  private let flag = Atomic(false)
  public init() {}
  public func cancel() { flag.store(true, ordering: .relaxed) }
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
