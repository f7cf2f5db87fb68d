import AsyncHTTPClient
import NIOCore
import Synchronization

/// What became of the requests to one upstream.
final class UpstreamCounts: Sendable {
  enum Outcome: String, CaseIterable, Sendable {
    /// A tile, or a part of an archive.
    case fetched
    /// The tile that is kept is still that of the server.
    case unchanged
    /// The server has no such tile.
    case missing
    /// The server does not want to give it: 401, 403, a redirect elsewhere.
    case refused
    /// The server cannot: 429, 5xx.
    case failed
    /// An answer that is no tile, or too large.
    case invalid
    case timeout
    case unreachable
    /// Not asked, because it is away.
    case skipped
    /// Not asked, because it gets as many requests a second as its description allows.
    case limited

    /// The same for ``skipped``, as a failure.
    static var away: Outcome { .skipped }
  }

  private struct State {
    var outcomes = [Outcome: Int]()
    var bytes = 0
    /// Of these, what came for tiles that nobody had asked for: the parts of an archive's directory too.
    var bytesAhead = 0
    /// What requests of that kind that are under way may bring.
    var reservedAhead = 0
    /// The longest body.
    var bytesLargest = 0
    var unkept = 0
  }
  /// True while this thread asks for what nobody has asked for.
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
  /// Sets bytes aside for a tile that nobody asked for, so that what came ahead stays at most half of what was asked for, however many do so at the same time.
  ///
  /// - Parameter bodyCount: how many bodies it may take, each as long as the longest so far.
  /// - Returns: what to give back with ``releaseAhead(_:)`` once it came; nil when it would be too much.
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
  /// A tile could not be kept: the bundle is full, or its disk.
  func couldNotKeep() { state.withLock { $0.unkept += 1 } }

  subscript(outcome: Outcome) -> Int { state.withLock { $0.outcomes[outcome] ?? 0 } }
  /// Bytes of all bodies received.
  var bytes: Int { state.withLock { $0.bytes } }
  var unkept: Int { state.withLock { $0.unkept } }
}

/// Why an upstream did not answer. The message says what it did, without its URL, which may hold a key.
struct UpstreamFailure: Error, Sendable {
  var outcome: UpstreamCounts.Outcome
  var message: String
  /// Seconds that it wants to be left alone.
  var retryAfter: Int?

  init(_ outcome: UpstreamCounts.Outcome, _ message: String, retryAfter: Int? = nil) {
    (self.outcome, self.message, self.retryAfter) = (outcome, message, retryAfter)
  }

  /// What a failed exchange means.
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

  /// The reason as clients of ours get it.
  func error(_ host: String) -> ServeError { ServeError(.unavailable, "\(host) \(message)") }
}
