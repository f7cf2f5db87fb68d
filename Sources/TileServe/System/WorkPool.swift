import NIOPosix
package import Support
import Synchronization

/// Threads for work that may block: reading cold pages, opening bundles, drawing.
///
/// Work is queued in lanes, one for each tileset, and lanes belong to groups, one for each disk. A lane never has more
/// than ``laneWidth`` threads and a group never more than ``groupWidth``: a slow disk delays only its own tilesets.
/// Within a group the lanes take turns. Tilesets of upstreams have their own threads, since networks stall for longer
/// than disks. Work that needs a tileset whose threads are busy in other lanes is put aside (``ReadingSlots``).
///
/// Requests take priority over prefetching (``Urgency``), which leaves one thread of a lane free for them.
///
/// A request whose client is gone is cancelled, waiting or running (``cancellation()``); all work is at the pool's end.
package final class WorkPool: Sendable {
  /// Threads that one tileset may hold: a quarter of its disk's.
  static let laneWidth = groupWidth / 4
  /// Threads that one disk may hold.
  static let groupWidth = 8
  /// The total number of threads; they sleep most of the time.
  static let threadCount = 4 * groupWidth
  /// Requests that may wait in a lane; further ones are rejected.
  static let waitingCountMax = 1024
  /// Prefetches that may wait in a lane; they are soon obsolete.
  static let laterCountMax = 128
  /// Threads that one tileset of an upstream may hold: they wait most of the time.
  static let remoteWidth = 8
  /// Threads for all tilesets of upstreams.
  static let remoteThreadCount = 32

  /// The priority of work.
  package enum Urgency: Sendable {
    case now
    /// Runs when no request waits for the tileset.
    case later
  }

  /// The work queue of one tileset.
  package final class Lane: Sendable {
    fileprivate let group: Group
    fileprivate let width: Int
    /// True where the threads may wait for a network.
    let mayStall: Bool
    fileprivate let state = Mutex(LaneState())
    fileprivate init(_ group: Group, width: Int, mayStall: Bool = false) {
      (self.group, self.width, self.mayStall) = (group, width, mayStall)
    }

    /// Cancels the requests that wait.
    fileprivate func cancelWaiting() {
      for job in state.withLock({ $0.waiting.all }) { job.cancellation.cancel() }
    }
  }

  fileprivate struct Job: Sendable {
    let cancellation: Cancellation
    let work: @Sendable () throws -> Void
    /// What it waited for, when it was put aside.
    var slot: ReadingSlots?
  }

  /// A request that a thread answers.
  private struct Running {
    let cancellation: Cancellation
    let lane: Lane
    let start: Double
  }

  fileprivate struct LaneState {
    var running = 0
    var runningLater = 0
    var waiting = Queue<Job>()
    var later = Queue<Job>()

    /// True if a thread could start work.
    func canStart(width: Int) -> Bool {
      guard running < width else { return false }
      return !waiting.isEmpty || !later.isEmpty && runningLater < max(width - 1, 1)
    }
    /// True while the lane is in its group's queue.
    var isInLine = false
  }

  /// The lanes of one disk, or of one tileset of an upstream.
  fileprivate final class Group: Sendable {
    let state = Mutex(GroupState())
    let width: Int
    let threads: NIOThreadPool

    init(width: Int, _ threads: NIOThreadPool) { (self.width, self.threads) = (width, threads) }
  }

  fileprivate struct GroupState {
    var running = 0
    /// Lanes with waiting work and fewer threads than they may have.
    var line = Queue<Lane>()
  }

  private let threads = NIOThreadPool(numberOfThreads: WorkPool.threadCount)
  /// Created with the first tileset of an upstream.
  private let remoteThreads = Mutex<NIOThreadPool?>(nil)
  private let groups = Mutex<[UInt64: Group]>([:])

  /// Requests in progress on the threads of disks.
  private let urgent = Atomic(0)
  package var urgentCount: Int { urgent.load(ordering: .relaxed) }

  private let running = Mutex<[ObjectIdentifier: Running]>([:])
  /// Requests that were put aside.
  private let aside = Mutex<[ObjectIdentifier: Cancellation]>([:])
  private let end = Cancellation()

  package init() { threads.start() }

  /// Without ``shutdown()`` nobody waits for the threads, but they end.
  deinit {
    end.cancel()
    threads.shutdownGracefully { _ in }
    remoteThreads.withLock { $0 }?.shutdownGracefully { _ in }
  }

  /// For one request, see ``submit(_:urgency:request:_:)``.
  func cancellation() -> Cancellation { Cancellation(parent: end) }

  /// Cancels the requests that threads have been answering for so long, and those that wait for the same tilesets or
  /// were put aside. What has been running for seconds is a query that may have no end.
  func cancelRequests(runningFor seconds: Double) {
    let now = MonotonicClock.seconds
    let slow = running.withLock { $0.values.filter { now - $0.start >= seconds } }
    for request in slow {
      request.cancellation.cancel()
      request.lane.cancelWaiting()
    }
    if !slow.isEmpty { for request in aside.withLock({ Array($0.values) }) { request.cancel() } }
  }

  /// Cancels all work, and ends the threads when they have left it. What waits is called, and finds itself cancelled.
  package func shutdown() async {
    end.cancel()
    try? await threads.shutdownGracefully()
    try? await remoteThreads.withLock({ $0 })?.shutdownGracefully()
  }

  /// A lane for a tileset on a disk, by the disk's device number.
  package func lane(device: UInt64) -> Lane {
    Lane(
      groups.withLock { groups in
        if let group = groups[device] { return group }
        let group = Group(width: Self.groupWidth, threads)
        groups[device] = group
        return group
      }, width: Self.laneWidth)
  }

  /// Two lanes for a tileset of an upstream or of an app, the second for composites; together they have ``remoteWidth``
  /// threads.
  package func remoteLanes() -> (Lane, Lane) {
    let threads = remoteThreads.withLock { threads in
      if let threads { return threads }
      let new = NIOThreadPool(numberOfThreads: Self.remoteThreadCount)
      new.start()
      threads = new
      return new
    }
    let group = Group(width: Self.remoteWidth, threads)
    return (
      Lane(group, width: Self.remoteWidth, mayStall: true), Lane(group, width: Self.remoteWidth / 2, mayStall: true)
    )
  }

  /// Queues work for a thread. False if too much waits already; the work is then not done.
  ///
  /// - Parameters:
  ///   - request: the cancellation of a request; nil for other work.
  ///   - work: throws only ``ReadingSlots/Crowded``, for a request, which is then started again.
  package func submit(
    _ lane: Lane, urgency: Urgency = .now, request: Cancellation? = nil, _ work: @escaping @Sendable () throws -> Void
  ) -> Bool {
    // What comes after the end is done: a closed registry can still be read.
    let job = Job(cancellation: request ?? (end.isCancelled ? Cancellation() : end), work: work)
    let accepted = lane.state.withLock { state in
      switch urgency {
      case .now:
        guard state.waiting.count < Self.waitingCountMax else { return false }
        state.waiting.append(job)
      case .later:
        guard state.later.count < Self.laterCountMax else { return false }
        state.later.append(job)
      }
      return true
    }
    if accepted { start(lane) }
    return accepted
  }

  /// Adds the lane to its group's queue if it has work and may use another thread, and starts the group's threads.
  private func start(_ lane: Lane) {
    let joins = lane.state.withLock { state in
      guard !state.isInLine, state.canStart(width: lane.width) else { return false }
      state.isInLine = true
      return true
    }
    let group = lane.group
    let begins = group.state.withLock { state in
      if joins { state.line.append(lane) }
      guard !state.line.isEmpty, state.running < group.width else { return false }
      state.running += 1
      return true
    }
    if begins {
      // Also if the threads have ended: a caller waits for the result.
      group.threads.submit { _ in self.run(group) }
    }
  }

  /// One thread of a group: takes work from the first lane of the queue until there is none.
  private func run(_ group: Group) {
    while true {
      let next = group.state.withLock { state -> Lane? in
        if let lane = state.line.popFirst() { return lane }
        state.running -= 1
        return nil
      }
      guard let lane = next else { return }
      let found = lane.state.withLock { state -> (job: Job, isLater: Bool)? in
        state.isInLine = false
        guard state.canStart(width: lane.width) else { return nil }
        let isLater = state.waiting.isEmpty
        guard let job = isLater ? state.later.popFirst() : state.waiting.popFirst() else { return nil }
        state.running += 1
        if isLater { state.runningLater += 1 }
        return (job, isLater)
      }
      guard let found else { continue }
      // Other work of the lane may run at the same time.
      start(lane)
      let counts = !found.isLater && group.threads === threads
      if counts { urgent.add(1, ordering: .relaxed) }
      perform(found.job, in: lane)
      if counts { urgent.subtract(1, ordering: .relaxed) }
      lane.state.withLock { state in
        state.running -= 1
        if found.isLater { state.runningLater -= 1 }
      }
      start(lane)
    }
  }
}

extension WorkPool {
  private func perform(_ job: Job, in lane: Lane) {
    guard job.cancellation !== end else { return end.run { try? job.work() } }
    let id = ObjectIdentifier(job.cancellation)
    running.withLock {
      $0[id] = Running(cancellation: job.cancellation, lane: lane, start: MonotonicClock.seconds)
    }
    let result = Result { try job.cancellation.run { try ReadingSlots.using(job.slot, job.work) } }
    running.withLock { _ = $0.removeValue(forKey: id) }
    if case .failure(let crowded as ReadingSlots.Crowded) = result { putAside(job, in: lane, for: crowded.slots) }
  }

  private func putAside(_ job: Job, in lane: Lane, for slots: ReadingSlots) {
    var job = job
    let id = ObjectIdentifier(job.cancellation)
    let isAccepted = aside.withLock { aside in
      guard aside.count < Self.waitingCountMax else { return false }
      aside[id] = job.cancellation
      return true
    }
    guard isAccepted else {
      // Answered as cancelled: ask again later.
      job.cancellation.cancel()
      job.slot = nil
      return again(job, in: lane)
    }
    job.slot = slots
    slots.putAside { [job] in
      self.aside.withLock { _ = $0.removeValue(forKey: id) }
      self.again(job, in: lane)
    }
  }

  private func again(_ job: Job, in lane: Lane) {
    lane.state.withLock { $0.waiting.append(job) }
    start(lane)
  }
}

/// First in, first out, in amortised constant time.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }
  var isEmpty: Bool { first == elements.count }

  var all: [Element] { elements[first...].compactMap(\.self) }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard first < elements.count else { return nil }
    let element = elements[first]
    elements[first] = nil
    first += 1
    if first == elements.count {
      elements.removeAll(keepingCapacity: elements.count <= 64)
      first = 0
    } else if first > 32, first * 2 > elements.count {
      elements.removeFirst(first)
      first = 0
    }
    return element
  }

  mutating func removeAll() {
    elements.removeAll()
    first = 0
  }
}
