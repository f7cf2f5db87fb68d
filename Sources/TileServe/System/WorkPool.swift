import NIOPosix
import Synchronization

/// Threads for work that may block: reading cold pages, opening bundles, drawing.
///
/// Work is queued in lanes, one for each tileset, and lanes belong to groups, one for each disk. A lane never has more
/// than ``laneWidth`` threads and a group never more than ``groupWidth``: a slow disk delays only its own tilesets.
/// Within a group the lanes take turns. Tilesets of upstreams have their own threads, since networks stall for longer
/// than disks.
///
/// Requests take priority over prefetching (``Urgency``), which leaves one thread of a lane free for them.
package final class WorkPool: Sendable {
  /// Threads that one tileset may hold.
  static let laneWidth = 2
  /// Threads that one disk may hold.
  static let groupWidth = 4
  /// The total number of threads; they sleep most of the time.
  static let threadCount = 16
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
    fileprivate let state = Mutex(LaneState())
    fileprivate init(_ group: Group, width: Int) { (self.group, self.width) = (group, width) }
  }

  fileprivate struct LaneState {
    var running = 0
    var runningLater = 0
    var waiting = Queue<@Sendable () -> Void>()
    var later = Queue<@Sendable () -> Void>()

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

  package init() { threads.start() }

  /// Ends the threads when the queued work is done.
  package func shutdown() async {
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

  /// Two lanes for a tileset of an upstream, the second for composites; together they have ``remoteWidth`` threads.
  package func remoteLanes() -> (Lane, Lane) {
    let threads = remoteThreads.withLock { threads in
      if let threads { return threads }
      let new = NIOThreadPool(numberOfThreads: Self.remoteThreadCount)
      new.start()
      threads = new
      return new
    }
    let group = Group(width: Self.remoteWidth, threads)
    return (Lane(group, width: Self.remoteWidth), Lane(group, width: Self.remoteWidth / 2))
  }

  /// Queues work for a thread. False if too much waits already; the work is then not done.
  package func submit(
    _ lane: Lane, urgency: Urgency = .now, _ work: @escaping @Sendable () -> Void
  ) -> Bool {
    let accepted = lane.state.withLock { state in
      switch urgency {
      case .now:
        guard state.waiting.count < Self.waitingCountMax else { return false }
        state.waiting.append(work)
      case .later:
        guard state.later.count < Self.laterCountMax else { return false }
        state.later.append(work)
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
      let found = lane.state.withLock { state -> (work: @Sendable () -> Void, isLater: Bool)? in
        state.isInLine = false
        guard state.canStart(width: lane.width) else { return nil }
        let isLater = state.waiting.isEmpty
        guard let work = isLater ? state.later.popFirst() : state.waiting.popFirst() else { return nil }
        state.running += 1
        if isLater { state.runningLater += 1 }
        return (work, isLater)
      }
      guard let found else { continue }
      // Other work of the lane may run at the same time.
      start(lane)
      let counts = !found.isLater && group.threads === threads
      if counts { urgent.add(1, ordering: .relaxed) }
      found.work()
      if counts { urgent.subtract(1, ordering: .relaxed) }
      lane.state.withLock { state in
        state.running -= 1
        if found.isLater { state.runningLater -= 1 }
      }
      start(lane)
    }
  }
}

/// First in, first out, in amortised constant time.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }
  var isEmpty: Bool { first == elements.count }

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
