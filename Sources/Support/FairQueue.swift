import Synchronization

/// Gives work that computes its turn, a few pieces at a time, on threads of its own: event loops and the threads of
/// Swift's tasks go on answering meanwhile.
///
/// A piece belongs to a lane, a network and an account. At each of these levels the next turn goes to whoever was
/// charged least (start-time fair queueing: Goyal, Vin and Cheng, 1996). The charge of a piece is the processor time
/// that it took (``MeteredExecutor``), so a client that asks much, or for what is expensive, waits for itself and
/// delays others by one turn at most; a busy machine makes nobody's piece dearer. When too many pieces wait, whoever
/// has most of them loses the newest.
package final class FairQueue: Sendable {
  /// A kind of work with a part of the turns for itself. Lanes of weight 3 get three times what those of weight 1 get.
  package struct Lane: Hashable, Sendable {
    package let name: String
    package let weight: Double

    package init(_ name: String, weight: Double = 1) { (self.name, self.weight) = (name, weight) }
  }

  /// Who is charged for a piece of work.
  package struct Client: Hashable, Sendable {
    package let lane: Lane
    /// An IPv4 address, or the first 64 bits of an IPv6 address (``ClientAddress/network``).
    package let network: String
    /// Shares what its network gets with the other accounts there; empty without a session.
    package let account: String
    fileprivate let path: [String]

    package init(_ lane: Lane, network: String, account: String = "") {
      (self.lane, self.network, self.account) = (lane, network, account)
      path = [lane.name, network, account]
    }
  }

  /// There was no place for the piece, or it lost it to a client that has fewer pieces.
  package struct Full: Error {}

  private struct State {
    var root = FairShare()
    var runningCount = 0
    /// The usual charge of a turn in nanoseconds, which a piece has on account while it runs.
    var usual = 1e5
  }

  package let runningMax: Int
  private let waitingMax: Int
  private let waitingMaxOfNetwork: Int
  private let state = Mutex(State())
  private let threads: ThreadPool

  /// - Parameters:
  ///   - runningMax: how many pieces run at a time.
  ///   - waitingMax: how many wait, of all clients.
  ///   - waitingMaxOfNetwork: how many of them are one network's in one lane.
  package init(runningMax: Int, waitingMax: Int, waitingMaxOfNetwork: Int = .max) {
    (self.runningMax, self.waitingMax, self.waitingMaxOfNetwork) = (runningMax, waitingMax, waitingMaxOfNetwork)
    threads = ThreadPool(count: runningMax)
  }

  deinit { threads.stop() }

  /// Pieces that wait.
  package var waitingCount: Int { state.withLock { $0.root.count } }
  /// Pieces that have their turn.
  package var runningCount: Int { state.withLock { $0.runningCount } }

  /// Runs a piece of work when it is the client's turn.
  ///
  /// - Throws: ``Full``, or what the work throws.
  package func run<Value: Sendable>(
    for client: Client, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let usual = try await turn(of: client)
    let meter = MeteredExecutor(threads)
    defer { end(client, usual: usual, charge: Double(meter.nanoseconds)) }
    return try await withTaskExecutorPreference(meter) {
      defer { meter.read() }
      return try await work()
    }
  }

  /// Waits for a turn.
  ///
  /// - Returns: what was charged in advance.
  private func turn(of client: Client) async throws -> Double {
    try await withCheckedThrowingContinuation { continuation in
      var lost: FairShare.Item?
      let starts = state.withLock { state in
        let item = FairShare.Item(client: client, resume: { continuation.resume(with: $0) })
        if state.root.count(at: client.path.prefix(2)) >= waitingMaxOfNetwork {
          lost = item
        } else {
          if state.root.count >= waitingMax {
            guard let other = state.root.giveUp(for: client.path[...]) else {
              lost = item
              return [FairShare.Item]()
            }
            lost = other
          }
          state.root.add(item, client.path[...])
        }
        return starting(&state)
      }
      lost?.resume(.failure(Full()))
      resume(starts)
    }
  }

  private func end(_ client: Client, usual: Double, charge: Double) {
    let starts = state.withLock { state in
      state.runningCount -= 1
      state.root.charge(charge - usual, client)
      state.usual = max(1e4, 0.9 * state.usual + 0.1 * charge)
      // Nobody waits, so nobody has to be made up for.
      if state.root.count == 0, state.runningCount == 0 { state.root = FairShare() }
      return starting(&state)
    }
    resume(starts)
  }

  /// The pieces that may begin now.
  private func starting(_ state: inout State) -> [FairShare.Item] {
    var items: [FairShare.Item] = []
    while state.runningCount < runningMax, var item = state.root.next() {
      item.usual = state.usual
      state.runningCount += 1
      state.root.charge(state.usual, item.client)
      items.append(item)
    }
    return items
  }

  private func resume(_ items: [FairShare.Item]) {
    for item in items { item.resume(.success(item.usual)) }
  }
}

/// A part of the turns: all of them, a lane's, a network's, or an account's.
private struct FairShare {
  struct Item {
    let client: FairQueue.Client
    let resume: @Sendable (Result<Double, any Error>) -> Void
    var usual = 0.0
  }

  /// What was charged, in nanoseconds of the parent's clock.
  var charged = 0.0
  /// What the part had been charged to which the last turn went: whoever comes anew starts from there.
  private var clock = 0.0
  private var parts: [String: FairShare] = [:]
  /// Of an account.
  private var items: [Item] = []
  /// Pieces that wait, in all parts.
  private(set) var count = 0

  /// Parts that are kept without waiting pieces, for what they were charged. Strangers choose their names.
  private static let idleMax = 1_024

  func count(at path: ArraySlice<String>) -> Int {
    guard let name = path.first else { return count }
    return parts[name]?.count(at: path.dropFirst()) ?? 0
  }

  mutating func add(_ item: Item, _ path: ArraySlice<String>) {
    count += 1
    guard let name = path.first else { return items.append(item) }
    if parts.count > Self.idleMax { parts = parts.filter { $0.value.count > 0 || $0.value.charged > clock } }
    var part = parts.removeValue(forKey: name) ?? FairShare()
    // Time without work is not saved up.
    if part.count == 0 { part.charged = max(part.charged, clock) }
    part.add(item, path.dropFirst())
    parts[name] = part
  }

  /// Takes the piece whose turn it is.
  mutating func next() -> Item? {
    guard count > 0 else { return nil }
    count -= 1
    if !items.isEmpty { return items.removeFirst() }
    let waiting = parts.lazy.filter { $0.value.count > 0 }
    guard let name = waiting.min(by: { ($0.value.charged, $0.key) < ($1.value.charged, $1.key) })?.key else {
      return nil
    }
    clock = max(clock, parts[name]?.charged ?? 0)
    return parts[name]?.next()
  }

  mutating func charge(_ nanoseconds: Double, _ client: FairQueue.Client) {
    charge(nanoseconds / client.lane.weight, nanoseconds, client.path[...])
  }

  private mutating func charge(_ here: Double, _ below: Double, _ path: ArraySlice<String>) {
    guard let name = path.first else { return }
    var part = parts.removeValue(forKey: name) ?? FairShare()
    part.charged += here
    part.charge(below, below, path.dropFirst())
    parts[name] = part
  }

  /// Takes the newest piece of whoever has most, to make room for one more at a path; nil if that one would be it.
  mutating func giveUp(for path: ArraySlice<String>) -> Item? {
    guard let name = path.first else { return nil }
    let own = parts[name]?.count ?? 0
    let isOthers = parts.contains { $0.key != name && $0.value.count > own + 1 }
    guard let item = isOthers ? removeLast() : parts[name]?.giveUp(for: path.dropFirst()) else { return nil }
    if !isOthers { count -= 1 }
    return item
  }

  private mutating func removeLast() -> Item? {
    count -= 1
    if !items.isEmpty { return items.removeLast() }
    guard let name = parts.max(by: { ($0.value.count, $0.key) < ($1.value.count, $1.key) })?.key else { return nil }
    return parts[name]?.removeLast()
  }
}
