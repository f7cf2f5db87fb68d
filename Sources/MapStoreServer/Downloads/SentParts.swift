import PurchaseLedger
import Synchronization

/// How much of each file has gone to each account, from its beginning on without a gap: a response that reaches the end is all of a file only together with what went before it. Forgotten a day
/// after the last part, or with the process.
final class SentParts: Sendable {
  private struct Key: Hashable {
    let account: AccountID
    let file: String
    let sha256Start: String

    init(_ link: DownloadLink) { (account, file, sha256Start) = (link.account, link.file, link.sha256Start) }
  }

  private struct Part {
    /// Bytes.
    var end = 0
    /// Milliseconds since 1970.
    var at: Int64 = 0
  }

  private struct State {
    var parts: [Key: Part] = [:]
    var cleanedAt: Int64 = 0
  }

  private static let lastingMilliseconds: Int64 = 86_400_000

  private let state = Mutex(State())

  /// Notes a part that is going out, unless something before it is missing.
  func add(_ range: Range<Int>, of link: DownloadLink, now: Int64) {
    state.withLock { state in
      if now - state.cleanedAt > 60_000 {
        state.parts = state.parts.filter { now - $0.value.at < Self.lastingMilliseconds }
        state.cleanedAt = now
      }
      var part = state.parts[Key(link)] ?? Part()
      guard range.lowerBound <= part.end else { return }
      part.end = max(part.end, range.upperBound)
      part.at = now
      state.parts[Key(link)] = part
    }
  }

  /// Whether all of a file has gone out; it counts once.
  func takeWhole(_ link: DownloadLink, byteCount: Int) -> Bool {
    state.withLock { state in
      guard let part = state.parts[Key(link)], part.end >= byteCount else { return false }
      state.parts[Key(link)] = nil
      return true
    }
  }
}
