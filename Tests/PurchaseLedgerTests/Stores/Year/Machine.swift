import Foundation
import StoreSimulators
import Synchronization
import TestSupport

/// The machine on which the jobs of a simulated year run: the ledger's files, and the kills of its processes.
final class Machine: Sendable {
  private struct State {
    var folder = "0"
    var requests = 0
    /// The request that is the last one of the process.
    var last: (number: Int, isBefore: Bool)?
    var isDead = false
  }

  private let folder: TemporaryFolder
  private let state = Mutex(State())

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("0"), withIntermediateDirectories: true)
  }

  /// The ledger.
  var path: String { folder.file(state.withLock { $0.folder }) + "/ledger.sqlite" }

  /// The requests so far.
  var requests: Int { state.withLock { $0.requests } }

  /// Lets the next process end during one of its requests.
  func arm(_ kill: YearPlan.Kill?) {
    state.withLock { state in
      state.isDead = false
      state.last = kill.map { (state.requests + $0.request, $0.isBefore) }
    }
  }

  /// - Returns: Whether the process was killed.
  func disarm() -> Bool {
    state.withLock { state in
      state.last = nil
      return state.isDead
    }
  }

  /// Answers, unless the process is dead: then nothing that it still does counts, because the ledger's files were taken
  /// away as they were.
  func answer(_ answer: () -> StoreServer.Reply) -> StoreServer.Reply {
    let (isDead, isLast, isBefore) = state.withLock { state in
      defer { state.requests += 1 }
      return (state.isDead, state.last?.number == state.requests, state.last?.isBefore ?? false)
    }
    if isDead { return .closed }
    guard isLast else { return answer() }
    if !isBefore { _ = answer() }
    kill()
    return .closed
  }

  private func kill() {
    state.withLock { state in
      let new = "\((Int(state.folder) ?? 0) + 1)"
      let files = FileManager.default
      let (from, to) = (folder.file(state.folder), folder.file(new))
      try? files.createDirectory(atPath: to, withIntermediateDirectories: true)
      // The index of the log belongs to processes.
      for name in (try? files.contentsOfDirectory(atPath: from)) ?? [] where !name.hasSuffix("-shm") {
        try? files.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(name)")
      }
      state.folder = new
      state.isDead = true
    }
  }
}
