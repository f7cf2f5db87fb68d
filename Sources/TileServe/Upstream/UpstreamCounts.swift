import AsyncHTTPClient
import NIOCore
import Synchronization

/// Counts the outcomes of the requests to one upstream.
final class UpstreamCounts: Sendable {
  enum Outcome: String, CaseIterable, Sendable {
    /// A tile, or a part of an archive.
    case fetched
    /// The cached tile is still valid.
    case unchanged
    /// The server has no such tile.
    case missing
    /// The server refuses: 401, 403, a redirect elsewhere.
    case refused
    /// The server fails: 429, 5xx.
    case failed
    /// An answer that is no tile, or too large.
    case invalid
    case timeout
    case unreachable
    /// Not requested, because the upstream is unreachable.
    case skipped
    /// Not requested, because the rate limit of its description is reached.
    case limited

    /// The same for ``skipped``, as a failure.
    static var away: Outcome { .skipped }
  }

  private struct State {
    var outcomes = [Outcome: Int]()
    var bytes = 0
    /// Of these, the bytes of prefetched tiles, with the parts of an archive's directory for them.
    var bytesAhead = 0
    /// The most that prefetches in flight may receive.
    var reservedAhead = 0
    /// The longest body.
    var bytesLargest = 0
    var unkept = 0
  }
  /// True while this thread prefetches.
  @TaskLocal static var isAhead = false

  private let state = Mutex(State())

  func add(_ outcome: Outcome) { state.withLock { $0.outcomes[outcome, default: 0] += 1 } }
  func received(_ bytes: Int) {
    let isAhead = Self.isAhead
    state.withLock { state in
      state.bytes += bytes
      if isAhead { state.bytesAhead += bytes }
      state.bytesLargest = max(state.bytesLargest, bytes)
    }
  }
  /// Reserves bytes for a prefetch, so that prefetched bytes stay at most half of the requested ones, however many
  /// prefetches run at the same time.
  ///
  /// - Parameter bodyCount: how many bodies it may take, each as long as the longest so far.
  /// - Returns: what to pass to ``releaseAhead(_:)`` afterwards; nil if it would be too much.
  func reserveAhead(bodyCount: Int) -> Int? {
    state.withLock { state in
      let next = bodyCount * state.bytesLargest
      guard next > 0, 2 * (state.bytesAhead + state.reservedAhead + next) <= state.bytes - state.bytesAhead else {
        return nil
      }
      state.reservedAhead += next
      return next
    }
  }
  func releaseAhead(_ bytes: Int) { state.withLock { $0.reservedAhead -= bytes } }
  /// A tile could not be stored: the bundle or its disk is full.
  func couldNotKeep() { state.withLock { $0.unkept += 1 } }

  subscript(outcome: Outcome) -> Int { state.withLock { $0.outcomes[outcome] ?? 0 } }
  /// Bytes of all bodies received.
  var bytes: Int { state.withLock { $0.bytes } }
  var unkept: Int { state.withLock { $0.unkept } }
}

/// Why a request to an upstream failed. The message says what the upstream did, without its URL, which may hold a key.
struct UpstreamFailure: Error, Sendable {
  var outcome: UpstreamCounts.Outcome
  var message: String
  /// Seconds of its Retry-After field.
  var retryAfter: Int?

  init(_ outcome: UpstreamCounts.Outcome, _ message: String, retryAfter: Int? = nil) {
    (self.outcome, self.message, self.retryAfter) = (outcome, message, retryAfter)
  }

  /// The failure for an error of the HTTP client.
  init(_ error: any Error) {
    if error is ResponseAccumulator.ResponseTooBigError {
      self.init(.invalid, "answers with more bytes than a tile has")
    } else if let error = error as? HTTPClientError {
      let late: [HTTPClientError] = [
        .connectTimeout, .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout,
      ]
      if late.contains(error) {
        self.init(.timeout, "does not answer in time")
      } else {
        self.init(.unreachable, "breaks its answers off: \(error.shortDescription)")
      }
    } else {
      self.init(.unreachable, "cannot be reached")
    }
  }

  /// The reason that our clients get.
  func error(_ host: String) -> ServeError { ServeError(.unavailable, "\(host) \(message)") }
}
