import Logging
import Support
import Synchronization

/// Logs faults that every request may meet, such as a full disk: one line a minute for each kind, and then how many
/// were left out.
final class FaultLog: Sendable {
  private struct Kind {
    var loggedAt: Double
    /// Since then.
    var omittedCount = 0
    var last = ""
  }

  private static let secondsBetween = 60.0
  /// Kinds that are told apart; those beyond count as one.
  private static let kindsMax = 64

  private let logger: Logger
  private let kinds = Mutex<[String: Kind]>([:])

  init(_ logger: Logger) { self.logger = logger }

  /// Logs an error, unless one of its kind was logged within the last minute.
  ///
  /// - Parameter kind: where it happened, in a word; errors with other codes or messages are of other kinds.
  func error(_ kind: String, _ text: String, of error: any Error, at now: Double = MonotonicClock.seconds) {
    let detail = (error as? any ToolkitError).map { "\($0.message)" } ?? "\(type(of: error))"
    let isNews = kinds.withLock { kinds in
      var key = "\(kind): \(detail)"
      if kinds[key] == nil, kinds.count >= Self.kindsMax { key = kind }
      if kinds[key] != nil {
        kinds[key]!.omittedCount += 1
        kinds[key]!.last = text
        return false
      }
      kinds[key] = Kind(loggedAt: now)
      return true
    }
    if isNews { logger.error("\(text)") }
  }

  /// Tells how many faults were left out, for each kind once a minute; called every second.
  func tell(at now: Double = MonotonicClock.seconds) {
    let told = kinds.withLock { kinds in
      let due = kinds.filter { now - $0.value.loggedAt >= Self.secondsBetween }
      for (key, kind) in due {
        // What did not come again for a minute is news when it does.
        kinds[key] = kind.omittedCount > 0 ? Kind(loggedAt: now) : nil
      }
      return due.values.filter { $0.omittedCount > 0 }
    }
    for kind in told {
      logger.error("\(kind.last) (\(kind.omittedCount) times within the last minute, of which this is the last)")
    }
  }

  /// Tells what was left out, at the end.
  func close() { tell(at: .infinity) }
}
