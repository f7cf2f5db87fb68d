import TestSupport
import TileIndex

@testable import TileServe

/// Clients that ask for tiles at random and compare every answer with the editions that there are.
final class EditionClients: Sendable {
  private struct State {
    var editions: [Edition]
    var isDone = false
    var right = 0
    var busy = 0
    var failures: [String] = []
  }

  private let state: Locked<State>
  private let tasks = Locked<[Task<Void, any Error>]>([])
  private let port: Int

  init(_ editions: [Edition], port: Int) {
    state = Locked(State(editions: editions))
    self.port = port
  }

  var editions: [Edition] { state.withLock { $0.editions } }
  var rightCount: Int { state.withLock { $0.right } }
  /// Answers with status 503.
  var busyCount: Int { state.withLock { $0.busy } }
  var failures: [String] { state.withLock { $0.failures } }

  func add(_ edition: Edition) {
    state.withLock { if !$0.editions.contains(where: { $0.number == edition.number }) { $0.editions.append(edition) } }
  }

  func start(_ count: Int) {
    tasks.withLock { tasks in
      tasks = (0..<count).map { number in Task { try await onThread { try self.read(seed: UInt64(number)) } } }
    }
  }

  func stop() { state.withLock { $0.isDone = true } }

  func end() async throws {
    stop()
    for task in tasks.withLock({ $0 }) { try await task.value }
  }

  private func read(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let connection = try HTTPConnection(port: port)
    var tags: [TileID: String] = [:]
    while !state.withLock({ $0.isDone }) {
      let tile = Edition.addresses.randomElement(using: &random)!
      let tag = Bool.random(using: &random) ? tags[tile] : nil
      let response = try connection.request(
        "/a/4/\(tile.column)/\(tile.row).png", tag.map { ["If-None-Match": $0] } ?? [:])
      let isRight =
        switch response.status {
        case 200: editions.contains { $0.bytes(tile) == response.body && $0.tag(tile) == response["ETag"] }
        case 304: tag == response["ETag"] && editions.contains { $0.tag(tile) == tag }
        default: false
        }
      if response.status == 200 { tags[tile] = response["ETag"] }
      state.withLock { state in
        if isRight {
          state.right += 1
        } else if response.status == 503, response["Retry-After"] != nil, response["Cache-Control"] == "no-store" {
          state.busy += 1
        } else if state.failures.count < 20 {
          let bodies = state.editions.filter { $0.bytes(tile) == response.body }.map(\.number)
          let tagged = state.editions.filter { $0.tag(tile) == response["ETag"] }.map(\.number)
          state.failures.append(
            "\(tile): \(response.status), \(response.body.count) bytes, body of \(bodies), tag of \(tagged)")
        }
      }
    }
  }
}
