import NIOPosix
import Synchronization

/// Threads for work that may block: reading cold pages, opening bundles, drawing.
///
/// Work comes in lanes, one a tileset, and lanes in groups, one a disk. A lane never has more than ``laneWidth`` threads and a group never more than
/// ``groupWidth``, so that a disk that stalls holds up its own tilesets and nobody else's. Within a group the lanes take turns.
package final class WorkPool: Sendable {
  /// Threads that one tileset may hold.
  static let laneWidth = 2
  /// Threads that one disk may hold.
  static let groupWidth = 4
  /// Threads in all; they sleep most of the time.
  static let threadCount = 16
  /// What may wait in a lane; beyond it a request is refused rather than queued.
  static let waitingCountMax = 1024

  /// Where the work of one tileset queues.
  package final class Lane: Sendable {
    fileprivate let group: Group
    fileprivate let state = Mutex(LaneState())
    fileprivate init(_ group: Group) { self.group = group }
  }

  fileprivate struct LaneState {
    var running = 0
    var waiting = Queue<@Sendable () -> Void>()
    /// True while the lane stands in its group's line.
    var isInLine = false
  }

  /// The lanes of one disk.
  fileprivate final class Group: Sendable {
    let state = Mutex(GroupState())
  }

  fileprivate struct GroupState {
    var running = 0
    /// Lanes that have work waiting and a thread of their own to spare.
    var line = Queue<Lane>()
  }

  private let threads = NIOThreadPool(numberOfThreads: WorkPool.threadCount)
  private let groups = Mutex<[UInt64: Group]>([:])

  package init() { threads.start() }

  /// Ends the threads when the work that waits is done.
  package func shutdown() async { try? await threads.shutdownGracefully() }

  /// A lane for a tileset that lies on a disk, by the disk's device number.
  package func lane(device: UInt64) -> Lane {
    Lane(
      groups.withLock { groups in
        if let group = groups[device] { return group }
        let group = Group()
        groups[device] = group
        return group
      })
  }

  /// Has a thread do the work. False when too much waits already; the work is then not done.
  package func submit(_ lane: Lane, _ work: @escaping @Sendable () -> Void) -> Bool {
    let accepted = lane.state.withLock { state in
      guard state.waiting.count < Self.waitingCountMax else { return false }
      state.waiting.append(work)
      return true
    }
    if accepted { start(lane) }
    return accepted
  }

  /// Puts the lane in its group's line when it has work and threads to spare, and starts what the group can.
  private func start(_ lane: Lane) {
    let joins = lane.state.withLock { state in
      guard !state.isInLine, !state.waiting.isEmpty, state.running < Self.laneWidth else { return false }
      state.isInLine = true
      return true
    }
    let group = lane.group
    let begins = group.state.withLock { state in
      if joins { state.line.append(lane) }
      guard !state.line.isEmpty, state.running < Self.groupWidth else { return false }
      state.running += 1
      return true
    }
    if begins {
      // Also when the threads have ended: somebody waits for what the work does.
      threads.submit { _ in self.run(group) }
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
      let work = lane.state.withLock { state -> (@Sendable () -> Void)? in
        state.isInLine = false
        guard let work = state.waiting.popFirst() else { return nil }
        state.running += 1
        return work
      }
      guard let work else { continue }
      // Others of the lane may run beside this one.
      start(lane)
      work()
      lane.state.withLock { $0.running -= 1 }
      start(lane)
    }
  }
}
