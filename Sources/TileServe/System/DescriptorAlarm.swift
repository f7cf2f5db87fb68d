import Logging
import Support
import Synchronization

/// Logs, at most once a minute, that the process has no file descriptors left. To clients this looks like broken
/// bundles and a server that does not answer.
final class DescriptorAlarm: Sendable {
  private let logger: Logger
  private let quietUntil = Mutex(-Double.infinity)

  init(_ logger: Logger) { self.logger = logger }

  /// - Parameter event: what could not be done, with the system's error message.
  func ring(_ event: String) {
    let now = MonotonicClock.seconds
    let isDue = quietUntil.withLock { quietUntil in
      defer { if now >= quietUntil { quietUntil = now + 60 } }
      return now >= quietUntil
    }
    guard isDue else { return }
    logger.error(
      "\(event); \(FileDescriptors.limit) are allowed: allow the process more open files, or fewer connections")
  }
}
