import Support

/// A source of a cut, for people.
package struct SourceDescription: Hashable, Sendable, Codable, CustomStringConvertible {
  package let path: String
  /// Pixels.
  package let width: Int
  package let height: Int
  /// Name and code of the coordinate reference system; nil for an image that lies nowhere on Earth.
  package let crs: String?

  package var description: String { "\(path): \(width) x \(height) pixels, \(crs ?? "nowhere on Earth")" }
}

/// The progress of a cut.
public struct CutProgress: Sendable, Codable {
  /// Candidate tiles processed, including empty ones.
  public let tilesDone: Int
  /// All candidate tiles.
  public let tilesTotal: Int
  /// Tiles written to the bundle.
  public let tilesStored: Int
  /// Bytes of the written tiles before deduplication.
  public let bytesStored: Int
  /// Time since the cut began.
  public let seconds: Double

  /// Candidate tiles processed per second.
  public var tilesPerSecond: Double { seconds > 0 ? Double(tilesDone) / seconds : 0 }
  /// The remaining time at the present rate; nil before the first tile.
  public var secondsLeft: Double? {
    tilesDone > 0 ? seconds / Double(tilesDone) * Double(tilesTotal - tilesDone) : nil
  }
}

/// The result of a finished cut.
public struct CutSummary: Sendable, Codable {
  /// The bundle's path.
  public let path: String
  /// Tiles in the bundle.
  public let tileCount: Int
  /// Distinct tile images, each of which is stored once.
  public let distinctTileCount: Int
  public let zoomMin: Int
  public let zoomMax: Int
  /// The bundle's size.
  public let fileBytes: Int
  public let seconds: Double
  /// Problems that did not prevent the cut; each line names its file.
  public let warnings: [String]
}

/// Asks a running cut to stop. May be called from any thread, also from a signal handler's queue.
public final class CutCancellation: Sendable {
  private let work = Cancellation()
  public init() {}
  public func cancel() { work.cancel() }
  public var isCancelled: Bool { work.isCancelled }

  /// Does work that this stops wherever it looks at `Cancellation`.
  ///
  /// - Throws: ``CutError`` `.cancelled`; what the work throws.
  func run<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try work.run(body)
    } catch is CancellationError {
      throw CutError(.cancelled, "cancelled")
    }
  }
}
