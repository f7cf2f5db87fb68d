import NIOCore
import PurchaseLedger
import Synchronization

/// A limited resource that clients share: connections, bytes of bodies that arrive, bytes of answers that are sent.
///
/// What is there is not reserved for anybody. When it runs out, a holder that needs more gets it from the one that has
/// most, if that one has more than it itself would have then; and what has not moved for some seconds is taken from
/// anybody. So it takes many clients that each need as much as everybody else to keep another one out.
final class FairBudget: Sendable {
  enum Holder: Hashable, Sendable {
    /// The client's network.
    case address(String)
    case account(AccountID)
    /// A proxy's connection, which may be any client's.
    case proxy(ObjectIdentifier)
  }

  /// What one share has; the budget and the share know it.
  fileprivate final class Record: Sendable {
    let holder: Holder
    /// In nanoseconds.
    let movedAt: Atomic<UInt64>
    // Guarded by the budget's state.
    nonisolated(unsafe) var count = 0
    nonisolated(unsafe) var isTakeable = true
    nonisolated(unsafe) var users: [ObjectIdentifier: any Channel] = [:]

    init(_ holder: Holder) {
      self.holder = holder
      movedAt = Atomic(NIODeadline.now().uptimeNanoseconds)
    }
  }

  private struct State {
    var total = 0
    var held: [Holder: Int] = [:]
    var records: [ObjectIdentifier: Record] = [:]
    var takenCount = 0
  }

  private let max: Int
  private let maxOf: @Sendable (Holder) -> Int
  private let patience: UInt64
  private let state = Mutex(State())

  /// - Parameters:
  ///   - max: of all holders together.
  ///   - maxOf: of one holder.
  ///   - patience: after this time without a move a share may be taken whoever has it.
  init(max: Int, patience: TimeAmount = .seconds(5), maxOf: @escaping @Sendable (Holder) -> Int) {
    (self.max, self.maxOf, self.patience) = (max, maxOf, UInt64(patience.nanoseconds))
  }

  /// What is in use now.
  var total: Int { state.withLock { $0.total } }
  /// How many shares were taken from their holders so far.
  var takenCount: Int { state.withLock { $0.takenCount } }

  /// A part of the budget, given back with this object.
  final class Share: Sendable {
    private let budget: FairBudget
    private let record: Record

    fileprivate init(_ budget: FairBudget, _ record: Record) { (self.budget, self.record) = (budget, record) }

    deinit { budget.remove(record) }

    /// Makes the share larger; false if there is no room for more.
    func take(_ count: Int) -> Bool {
      move()
      return budget.take(count, record)
    }

    /// Something has arrived, or was accepted by the client.
    func move() { record.movedAt.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }

    /// The share is not taken away any more: ending its connection would gain nothing.
    func keep() { budget.state.withLock { _ in record.isTakeable = false } }

    /// Names a connection that ends when the share is taken away.
    func join(_ channel: any Channel) {
      budget.state.withLock { _ in record.users[ObjectIdentifier(channel)] = channel }
    }

    func leave(_ channel: any Channel) { budget.state.withLock { _ in record.users[ObjectIdentifier(channel)] = nil } }
  }

  /// An empty share.
  func share(of holder: Holder) -> Share { Share(self, Record(holder)) }

  private func take(_ count: Int, _ record: Record) -> Bool {
    let (isGiven, taken) = state.withLock { state in
      var taken: [any Channel] = []
      let held = state.held[record.holder, default: 0]
      // One piece of any size: an answer may be larger than what one client may have in many.
      guard held == 0 || held + count <= maxOf(record.holder) else { return (false, taken) }
      while state.total + count > max {
        guard let other = victim(of: record, needing: held + count, state) else { return (false, taken) }
        taken += other.users.values
        Self.remove(other, from: &state)
        state.takenCount += 1
      }
      // It may have been taken away meanwhile.
      guard record.isTakeable || record.count > 0 else { return (false, taken) }
      state.total += count
      state.held[record.holder, default: 0] += count
      record.count += count
      state.records[ObjectIdentifier(record)] = record
      return (true, taken)
    }
    for channel in taken { channel.close(promise: nil) }
    return isGiven
  }

  /// Whose share is taken away for a holder that would have `count` then.
  private func victim(of record: Record, needing count: Int, _ state: State) -> Record? {
    let others = state.records.values.filter { $0 !== record && $0.isTakeable }
    func movedAt(_ record: Record) -> UInt64 { record.movedAt.load(ordering: .relaxed) }
    func first(_ records: some Sequence<Record>) -> Record? { records.min { movedAt($0) < movedAt($1) } }
    let holders = Set(others.map(\.holder))
    if let heaviest = holders.max(by: { state.held[$0, default: 0] < state.held[$1, default: 0] }),
      state.held[heaviest, default: 0] > count
    {
      return first(others.lazy.filter { $0.holder == heaviest })
    }
    let now = NIODeadline.now().uptimeNanoseconds
    return first(others).flatMap { now &- movedAt($0) >= patience && now >= movedAt($0) ? $0 : nil }
  }

  private func remove(_ record: Record) { state.withLock { Self.remove(record, from: &$0) } }

  private static func remove(_ record: Record, from state: inout State) {
    state.records[ObjectIdentifier(record)] = nil
    state.total -= record.count
    let held = state.held[record.holder, default: 0] - record.count
    state.held[record.holder] = held > 0 ? held : nil
    (record.count, record.isTakeable, record.users) = (0, false, [:])
  }
}

extension FairBudget {
  /// Connections; each counts 1.
  static func connections(_ limits: StoreLimits) -> FairBudget {
    FairBudget(max: limits.connections) { holder in
      if case .proxy = holder { .max } else { limits.connectionsByAddress }
    }
  }

  /// Bytes; of one network and one account at least one of the largest bodies.
  fileprivate static func bytes(_ max: Int, largest: Int, ofAddress: Int, ofAccount: Int) -> FairBudget {
    FairBudget(max: Swift.max(max, largest)) { holder in
      if case .account = holder { Swift.max(ofAccount, largest) } else { Swift.max(ofAddress, largest) }
    }
  }
}

/// The memory for bodies of requests under way, of all connections together: with thousands of connections, a limit for
/// each is not enough. Notifications and small bodies have parts that large bodies never take.
struct BodyBudgets: Sendable {
  let notifications: FairBudget
  /// Sign-in, registration, links: bodies of at most ``StoreLimits/smallBodyBytes``.
  let small: FairBudget
  /// Purchases and libraries, for which there must be a session.
  let large: FairBudget

  init(_ limits: StoreLimits) {
    let (bytes, address, account) = (limits.bodiesBytes, limits.bodiesBytes / 64, limits.bodiesBytes / 8)
    notifications = .bytes(bytes / 4, largest: limits.messageBytes, ofAddress: address, ofAccount: account)
    small = .bytes(bytes / 4, largest: limits.smallBodyBytes, ofAddress: address, ofAccount: address)
    large = .bytes(bytes / 2, largest: limits.bodyBytes, ofAddress: address, ofAccount: account)
  }

  /// The bytes that are in use now.
  var total: Int { notifications.total + small.total + large.total }
  var takenCount: Int { notifications.takenCount + small.takenCount + large.takenCount }
}

extension FairBudget {
  /// The memory of answers that are being sent. Files are not in memory.
  static func answers(_ limits: StoreLimits) -> FairBudget {
    .bytes(limits.answersBytes, largest: 0, ofAddress: limits.answersBytes / 16, ofAccount: limits.answersBytes / 16)
  }
}
