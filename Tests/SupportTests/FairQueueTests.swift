import Support
import TestSupport
import Testing

/// Who gets the next turn, whatever a turn takes here.
@Suite(.ownThread) struct FairQueueTests {
  private static let lane = FairQueue.Lane("lane")

  private static func client(_ network: String, _ account: String = "", in lane: FairQueue.Lane = lane)
    -> FairQueue.Client
  {
    FairQueue.Client(lane, network: network, account: account)
  }

  /// The names of pieces in the order of their turns. They come in the order given, while another one has the turn.
  private func order(
    of pieces: [(client: FairQueue.Client, name: String)], waitingMax: Int = 1_000,
    _ work: @escaping @Sendable (String) async -> Void = { _ in }
  ) async throws -> (order: [String], refused: [String]) {
    let queue = FairQueue(runningMax: 1, waitingMax: waitingMax)
    let (holds, order, refused) = (Locked(true), Locked([String]()), Locked([String]()))
    let first = Task {
      try await queue.run(for: Self.client("first")) {
        _ = eventually(seconds: 120) { holds.withLock { !$0 } }
      }
    }
    #expect(try await onThread { eventually(seconds: 60) { queue.runningCount == 1 } })
    var tasks: [Task<Void, any Error>] = []
    for (number, piece) in pieces.enumerated() {
      tasks.append(
        Task {
          do {
            try await queue.run(for: piece.client) {
              await work(piece.name)
              order.withLock { $0.append(piece.name) }
            }
          } catch is FairQueue.Full {
            refused.withLock { $0.append(piece.name) }
          }
        })
      let come = { @Sendable in queue.waitingCount + refused.withLock { $0.count } == number + 1 }
      #expect(try await onThread { eventually(seconds: 60, come) })
    }
    holds.withLock { $0 = false }
    try await first.value
    for task in tasks { try await task.value }
    return (order.withLock { $0 }, refused.withLock { $0 })
  }

  /// A network that asks a hundred times does not keep one that asks once.
  @Test func manyPiecesWaitForThemselves() async throws {
    let many = (0..<100).map { (Self.client("10.0.0.1"), "many \($0)") }
    let result = try await order(of: many + [(Self.client("10.0.0.2"), "one")])
    #expect(result.order.firstIndex(of: "one") ?? .max <= 1, "\(result.order)")
    #expect(result.order.filter { $0 != "one" } == many.map(\.1) && result.refused.isEmpty)
  }

  /// One network's accounts share what it gets; a network with one account gets as much as one with fifty.
  @Test func accountsShareTheirNetwork() async throws {
    let fifty = (0..<50).map { (Self.client("10.0.0.1", "account \($0)"), "fifty") }
    let loud = (0..<10).map { _ in (Self.client("10.0.0.2", "loud"), "loud") }
    let result = try await order(of: fifty + loud + [(Self.client("10.0.0.2", "quiet"), "quiet")])
    #expect(result.order.firstIndex(of: "quiet") ?? .max <= 4, "\(result.order)")
    // The other network is through long before the fifty accounts.
    #expect(result.order.lastIndex(of: "loud") ?? .max < 40, "\(result.order)")
  }

  /// An expensive piece is charged as such: many cheap ones come before the next expensive one.
  @Test func expensivePiecesAreCharged() async throws {
    let pieces =
      (0..<2).map { (Self.client("10.0.0.1"), "dear \($0)") } + (0..<5).map { (Self.client("10.0.0.2"), "cheap \($0)") }
    let result = try await order(of: pieces) { name in
      if name.hasPrefix("dear") { Self.compute(milliseconds: 100) }
    }
    #expect(result.order.last == "dear 1", "\(result.order)")
  }

  /// Charged is what a piece computes. One that waits for a disk, or for a busy machine, costs others nothing.
  @Test func waitingIsNotCharged() async throws {
    let pieces =
      (0..<2).map { (Self.client("10.0.0.1"), "waits \($0)") } + (0..<3).map { (Self.client("10.0.0.2"), "busy \($0)") }
    let result = try await order(of: pieces) { name in
      if name.hasPrefix("waits") { _ = eventually(seconds: 0.5) { false } } else { Self.compute(milliseconds: 20) }
    }
    #expect(result.order.firstIndex(of: "waits 1") ?? .max <= 2, "\(result.order)")
  }

  /// A piece that is suspended is charged for what it computed before and after.
  @Test func allPartsAreCharged() async throws {
    let pieces =
      (0..<2).map { (Self.client("10.0.0.1"), "parts \($0)") }
      + (0..<2).map { (Self.client("10.0.0.2"), "whole \($0)") }
    let result = try await order(of: pieces) { name in
      guard name.hasPrefix("parts") else { return Self.compute(milliseconds: 60) }
      Self.compute(milliseconds: 50)
      try? await Task.sleep(for: .milliseconds(1))
      Self.compute(milliseconds: 50)
    }
    #expect(result.order == ["parts 0", "whole 0", "whole 1", "parts 1"])
  }

  private static func compute(milliseconds: Int) {
    let end = ThreadClock.nanoseconds + milliseconds * 1_000_000
    while ThreadClock.nanoseconds < end {}
  }

  /// Three of four turns are those of a lane of weight 3.
  @Test func lanesHaveTheirParts() async throws {
    let (known, strangers) = (FairQueue.Lane("known", weight: 3), FairQueue.Lane("strangers"))
    let pieces =
      (0..<40).map { (Self.client("\($0)", in: strangers), "stranger") }
      + (0..<40).map { (Self.client("\($0)", in: known), "known") }
    let result = try await order(of: pieces) { _ in Self.compute(milliseconds: 5) }
    let strangersFirst = result.order.prefix(40).count { $0 == "stranger" }
    #expect((4...20).contains(strangersFirst), "\(result.order)")
  }

  /// When the queue is full, who has most in it loses the newest piece; one who has as much as all others is refused.
  @Test func fullQueuesTakeFromWhoeverHasMost() async throws {
    let flood = (0..<12).map { (Self.client("10.0.0.1"), "flood \($0)") }
    let others = (2..<5).map { (Self.client("10.0.0.\($0)"), "other \($0)") }
    let result = try await order(of: flood + others, waitingMax: 10)
    #expect(Set(result.order) == Set((0..<7).map { "flood \($0)" } + others.map(\.1)), "\(result.order)")
    #expect(result.refused == ["flood 10", "flood 11", "flood 9", "flood 8", "flood 7"])
  }

  @Test func oneNetworkHasALimit() async throws {
    let queue = FairQueue(runningMax: 1, waitingMax: 100, waitingMaxOfNetwork: 2)
    let holds = Locked(true)
    @Sendable func wait() { _ = eventually(seconds: 120) { holds.withLock { !$0 } } }
    let tasks = (0..<3).map { _ in Task { try await queue.run(for: Self.client("10.0.0.1", "a")) { wait() } } }
    #expect(try await onThread { eventually(seconds: 60) { queue.waitingCount == 2 } })
    // However many accounts it has.
    await #expect(throws: FairQueue.Full.self) { try await queue.run(for: Self.client("10.0.0.1", "b")) {} }
    let other = Task { try await queue.run(for: Self.client("10.0.0.2")) { wait() } }
    #expect(try await onThread { eventually(seconds: 60) { queue.waitingCount == 3 } })
    holds.withLock { $0 = false }
    for task in tasks + [other] { try await task.value }
  }

  /// What the work throws comes back, and its turn ends.
  @Test func errorsEndTheTurn() async throws {
    struct Failure: Error {}
    let queue = FairQueue(runningMax: 1, waitingMax: 10)
    for _ in 0..<3 {
      await #expect(throws: Failure.self) { try await queue.run(for: Self.client("10.0.0.1")) { throw Failure() } }
    }
    #expect(try await queue.run(for: Self.client("10.0.0.1")) { 7 } == 7)
    #expect(queue.runningCount == 0 && queue.waitingCount == 0)
  }
}
