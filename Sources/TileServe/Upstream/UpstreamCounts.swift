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

    /// The same for ``skipped``, as a failure.
    static var away: Outcome { .skipped }
  }

  private struct State {
    var outcomes = [Outcome: Int]()
    var bytes = 0
    var bytesAhead = 0
    var tilesAhead = 0
    var unkept = 0
  }
  private let state = Mutex(State())

  func add(_ outcome: Outcome) { state.withLock { $0.outcomes[outcome, default: 0] += 1 } }
  func received(_ bytes: Int) { state.withLock { $0.bytes += bytes } }
  func receivedAhead(_ bytes: Int) {
    state.withLock { state in
      state.bytesAhead += bytes
      state.tilesAhead += 1
    }
  }
  /// True while what came ahead, with one more tile of the usual size, is at most half of what was asked for.
  var mayFetchAhead: Bool {
    state.withLock { state in
      let next = state.tilesAhead == 0 ? 0 : state.bytesAhead / state.tilesAhead
      return 2 * (state.bytesAhead + next) < state.bytes - state.bytesAhead
    }
  }
  /// A tile could not be kept: the bundle is full, or its disk.
  func couldNotKeep() { state.withLock { $0.unkept += 1 } }

  subscript(outcome: Outcome) -> Int { state.withLock { $0.outcomes[outcome] ?? 0 } }
  /// Bytes of all bodies received.
  var bytes: Int { state.withLock { $0.bytes } }
  var unkept: Int { state.withLock { $0.unkept } }
}
