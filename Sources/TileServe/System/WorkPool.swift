import NIOPosix
import Synchronization

/// Threads for work that may block: reading cold pages, opening bundles, drawing.
///
/// Work comes in lanes, one a tileset, and lanes in groups, one a disk. A lane never has more than ``laneWidth`` threads and a group never more than
/// ``groupWidth``, so that a disk that stalls holds up its own tilesets and nobody else's. Within a group the lanes take turns. Tilesets of other servers
/// have threads apart from those of disks, since a network stalls for longer.
///
/// What somebody waits for goes before what may be wanted later (``Urgency``), which leaves one thread of a lane free for it.
package final class WorkPool: Sendable {
  /// Threads that one tileset may hold.
  static let laneWidth = 2
  /// Threads that one disk may hold.
  static let groupWidth = 4
  /// Threads in all; they sleep most of the time.
  static let threadCount = 16
  /// What may wait in a lane; beyond it a request is refused rather than queued.
  static let waitingCountMax = 1024
  /// What may wait in a lane for a quiet moment; what is wanted ahead of time is soon out of date.
  static let laterCountMax = 128
  /// Threads that one tileset of another server may hold: they wait, most of the time.
  static let remoteWidth = 8
  /// Threads for all tilesets of other servers.
  static let remoteThreadCount = 32

  /// Whether somebody waits.
  package enum Urgency: Sendable {
    case now
    /// When there is nothing else to do for the tileset.
    case later
  }

  /// Where the work of one tileset queues.
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

    /// True when a thread could begin something.
    func canStart(width: Int) -> Bool {
      guard running < width else { return false }
      return !waiting.isEmpty || !later.isEmpty && runningLater < max(width - 1, 1)
    }
    /// True while the lane stands in its group's line.
    var isInLine = false
  }

  /// The lanes of one disk, or of one tileset of another server.
  fileprivate final class Group: Sendable {
    let state = Mutex(GroupState())
    let width: Int
    let threads: NIOThreadPool

    init(width: Int, _ threads: NIOThreadPool) { (self.width, self.threads) = (width, threads) }
  }

  fileprivate struct GroupState {
    var running = 0
    /// Lanes that have work waiting and a thread of their own to spare.
    var line = Queue<Lane>()
  }

  private let threads = NIOThreadPool(numberOfThreads: WorkPool.threadCount)
  /// Made when the first tileset of another server comes.
  private let remoteThreads = Mutex<NIOThreadPool?>(nil)
  private let groups = Mutex<[UInt64: Group]>([:])

  /// Work under way on the threads of disks that somebody waits for.
  private let urgent = Atomic(0)
  package var urgentCount: Int { urgent.load(ordering: .relaxed) }

  package init() { threads.start() }

  /// Ends the threads when the work that waits is done.
  package func shutdown() async {
    try? await threads.shutdownGracefully()
    try? await remoteThreads.withLock({ $0 })?.shutdownGracefully()
  }

  /// A lane for a tileset that lies on a disk, by the disk's device number.
  package func lane(device: UInt64) -> Lane {
    Lane(
      groups.withLock { groups in
        if let group = groups[device] { return group }
        let group = Group(width: Self.groupWidth, threads)
        groups[device] = group
        return group
      }, width: Self.laneWidth)
  }

  /// Two lanes for a tileset of another server, the second for composites; together they have ``remoteWidth`` threads.
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

  /// Has a thread do the work. False when too much waits already; the work is then not done.
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

  /// Puts the lane in its group's line when it has work and threads to spare, and starts what the group can.
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
      // Also when the threads have ended: somebody waits for what the work does.
      group.threads.submit { _ in self.run(group) }
    }
  }

  /// One thread of a group: takes the work of whichever lane is first in line until there is none.
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
      // Others of the lane may run beside this one.
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
