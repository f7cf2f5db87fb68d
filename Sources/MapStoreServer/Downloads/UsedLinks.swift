import Synchronization

/// Links through which a file was fetched to its end: they do not count a second time. Forgotten when they have ended anyway, or the process does.
final class UsedLinks: Sendable {
  private struct State {
    /// When each ends, in milliseconds since 1970.
    var ends: [String: Int64] = [:]
    var cleanedAt: Int64 = 0
  }

  private let state = Mutex(State())

  func contains(_ link: DownloadLink) -> Bool { state.withLock { $0.ends[link.nonce] != nil } }

  func insert(_ link: DownloadLink, now: Int64) {
    state.withLock { state in
      if now - state.cleanedAt > 60_000 {
        state.ends = state.ends.filter { $0.value > now }
        state.cleanedAt = now
      }
      state.ends[link.nonce] = link.expiresAt
    }
  }
}
