import AsyncHTTPClient
import NIOCore

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
