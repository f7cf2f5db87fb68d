import Synchronization

@testable import PurchaseLedger

/// A sink that keeps pages and cursors in memory.
final class PageSink: SnapshotSink {
  private struct State {
    var pages: [SnapshotPage] = []
    var cursors: [String: String] = [:]
  }

  private let state = Mutex(State())

  init(cursors: [String: String] = [:]) { state.withLock { $0.cursors = cursors } }

  func store(_ page: SnapshotPage) throws {
    state.withLock { state in
      state.pages.append(page)
      if let cursor = page.cursor { state.cursors[cursor.name] = cursor.value }
    }
  }

  func cursor(_ name: String) throws -> (value: String, updatedAt: Int64)? {
    state.withLock { $0.cursors[name] }.map { ($0, 0) }
  }

  /// The gaps that came with pages.
  var lost: [LostWindow] { state.withLock { $0.pages.compactMap { $0.feed?.lost } } }
  var evidence: [(bytes: [UInt8], content: VerifiedEvidence)] { state.withLock { $0.pages.flatMap(\.evidence) } }
  var cursors: [String: String] { state.withLock { $0.cursors } }
  var transactionIDs: [[String]] {
    state.withLock { state in
      state.pages.map { $0.evidence.flatMap { piece in piece.content.transactions.map(\.transactionID) } }
    }
  }
}
