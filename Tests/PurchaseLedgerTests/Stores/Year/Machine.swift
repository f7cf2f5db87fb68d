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
    /// The process that is killed; nil if its work is done in this one.
    var process: Int32?
  }

  /// In memory where the system has a folder for that: hundreds of nights would wait for the disk.
  private let folder: String
  private let state = Mutex(State())

  init() throws {
    let parent = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    folder = "\(parent)/map-toolkit-year-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: "\(folder)/0", withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The ledger.
  var path: String { "\(folder)/\(state.withLock(\.folder))/ledger.sqlite" }

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

  /// A process in which the work is done.
  func run(_ child: ChildProcess) -> CommandRun {
    state.withLock { $0.process = Int32(child.processID) }
    let run = child.wait(timeout: 120)
    state.withLock { $0.process = nil }
    return run
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
    takeDown()
    return .closed
  }

  private func takeDown() {
    state.withLock { state in
      state.isDead = true
      if let process = state.process {
        kill(process, SIGKILL)
        return
      }
      let new = "\((Int(state.folder) ?? 0) + 1)"
      let files = FileManager.default
      let (from, to) = ("\(folder)/\(state.folder)", "\(folder)/\(new)")
      try? files.createDirectory(atPath: to, withIntermediateDirectories: true)
      // The index of the log belongs to processes.
      for name in (try? files.contentsOfDirectory(atPath: from)) ?? [] where !name.hasSuffix("-shm") {
        try? files.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(name)")
      }
      state.folder = new
    }
  }
}
