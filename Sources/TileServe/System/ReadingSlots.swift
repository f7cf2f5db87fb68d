import Synchronization

/// The threads that read one tileset at a time, in whichever lanes they work. A composite works in the lane of one of
/// its layers, so with the lanes alone a bundle that is slow, or never answers, could hold all threads of its disk.
///
/// 1. A read takes a slot (``reading(_:)``); within ``holding(_:)`` the slot is kept for the reads that follow.
/// 2. Work for a request that finds none free ends with ``Crowded``. ``WorkPool`` puts it aside: it holds no thread.
/// 3. A slot that becomes free is given to the work that was put aside first, which starts again with it.
///
/// Other work, such as opening a bundle for a list, reads at once: it is in the tileset's own lane.
package final class ReadingSlots: Sendable {
  /// There is no free slot; the work may be put aside.
  struct Crowded: Error {
    let slots: ReadingSlots
  }

  private struct State {
    /// Below zero while work reads that is never put aside.
    var free: Int
    /// Starts the work again.
    var aside = Queue<@Sendable () -> Void>()
  }

  /// Slots that a thread's work has; used by that thread alone.
  private final class Slots: @unchecked Sendable {
    var all: [ReadingSlots]
    init(_ all: [ReadingSlots]) { self.all = all }

    func remove(_ slots: ReadingSlots) -> Bool {
      guard let index = all.firstIndex(where: { $0 === slots }) else { return false }
      all.remove(at: index)
      return true
    }
  }

  private let state: Mutex<State>
  /// Given to the work before it started again, and not used yet.
  @TaskLocal private static var given: Slots?
  @TaskLocal private static var held: Slots?
  @TaskLocal private static var mayPutAside = false

  init(count: Int) { state = Mutex(State(free: count)) }

  /// The work that waits for a slot.
  var asideCount: Int { state.withLock { $0.aside.count } }

  /// Reads with a slot.
  ///
  /// - Throws: ``Crowded`` if there is none, for work that may be put aside; what the closure throws.
  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    if let held = Self.held {
      if !held.all.contains(where: { $0 === self }) {
        try take()
        held.all.append(self)
      }
      return try body()
    }
    try take()
    defer { release() }
    return try body()
  }

  /// Keeps each slot until all reads of the closure are done: work that has to start again reads everything again.
  static func holding<Result>(_ body: () throws -> Result) rethrows -> Result {
    let slots = Slots([])
    defer { for one in slots.all { one.release() } }
    return try $held.withValue(slots, operation: body)
  }

  /// Runs work that may be put aside: it ends with ``Crowded``, and can be started again.
  static func puttingAside<Result>(_ work: () throws -> Result) rethrows -> Result {
    try $mayPutAside.withValue(true, operation: work)
  }

  /// Runs work that was given a slot; nil for other work.
  static func using(_ slot: ReadingSlots?, _ work: () throws -> Void) rethrows {
    guard let slot else { return try work() }
    let slots = Slots([slot])
    // Unless it was used: the work may have found what it needs in a cache.
    defer { for one in slots.all { one.release() } }
    try $given.withValue(slots, operation: work)
  }

  /// Keeps work until there is a slot for it, with which it is started.
  func putAside(_ start: @escaping @Sendable () -> Void) {
    let isFree = state.withLock { state in
      guard state.free > 0 else {
        state.aside.append(start)
        return false
      }
      state.free -= 1
      return true
    }
    if isFree { start() }
  }

  private func take() throws {
    if Self.given?.remove(self) == true { return }
    let isTaken = state.withLock { state in
      guard state.free > 0 || !Self.mayPutAside else { return false }
      state.free -= 1
      return true
    }
    if !isTaken { throw Crowded(slots: self) }
  }

  private func release() {
    let next = state.withLock { state -> (@Sendable () -> Void)? in
      if state.free >= 0, let next = state.aside.popFirst() { return next }
      state.free += 1
      return nil
    }
    next?()
  }
}
