import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import TileIndex
import TilePrefetch

private let place = TileID(unchecked: 8, 3, 4)

private struct Refused: Error {}

/// A flag that is set once.
private final class End: Sendable {
  private let state = Mutex(false)
  var hasCome: Bool { state.withLock { $0 } }
  func come() { state.withLock { $0 = true } }
}

/// Shared loads, and loads that nobody wants any more.
@Suite(.ownThread) struct TileCacheLoadTests {
  @Test func concurrentThreadsShareOneLoad() async throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    let loadCount = Atomic(0)
    let released = DispatchSemaphore(value: 0)
    let answers = Mutex<[Int?]>([])
    let group = DispatchGroup()
    for _ in 0..<4 {
      group.enter()
      Thread.detachNewThread {
        let answer = try? cache.value(for: place, byteCount: 10) {
          loadCount.wrappingAdd(1, ordering: .relaxed)
          released.wait()
          return (42, byteCount: 10)
        }
        answers.withLock { $0.append(answer) }
        group.leave()
      }
    }
    try await eventually { cache.statistics.joined == 3 }
    released.signal()
    #expect(group.wait(timeout: .now() + 60) == .success)
    #expect(answers.withLock { $0 } == [42, 42, 42, 42])
    #expect(loadCount.load(ordering: .relaxed) == 1 && cache.statistics.misses == 1)
  }

  @Test func tasksShareALoadAndItsFailure() async throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    let gate = AsyncStream<Void>.makeStream()
    let tasks = (0..<3).map { _ in
      Task {
        try await cache.loadedValue(for: place, byteCount: 10) {
          for await _ in gate.stream { break }
          throw Refused()
        }
      }
    }
    try await eventually { cache.statistics.joined == 2 }
    gate.continuation.yield()
    for task in tasks {
      await #expect(throws: Refused.self) { try await task.value }
    }
    #expect(cache.statistics.misses == 1 && cache.statistics.reservedBytes == 0)
  }

  @Test func unwantedLoadIsCancelled() async throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    let end = End()
    let tasks = (0..<2).map { _ in
      Task {
        try await cache.loadedValue(for: place, byteCount: 10) {
          defer { end.come() }
          try await Task.sleep(for: .seconds(600))
          return (1, byteCount: 10)
        }
      }
    }
    try await eventually { cache.statistics.joined == 1 }
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    #expect(!end.hasCome, "the other still waits")
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    try await eventually { end.hasCome && cache.statistics.reservedBytes == 0 }
    #expect(try await cache.loadedValue(for: place, byteCount: 10) { (2, byteCount: 10) } == 2)
  }

  /// If waiters registered after the start, a load that ends at once would be over by then.
  @Test func loadThatEndsAtOnceRunsOnce() async throws {
    let cache = TileCache<TileID, Int>(byteCountMax: 0)
    let count = Atomic(0)
    for turn in 0..<10_000 {
      let value = try await cache.loadedValue(for: place, byteCount: 10) {
        (count.wrappingAdd(1, ordering: .relaxed).newValue, byteCount: 10)
      }
      try #require(value == turn + 1)
    }
    #expect(cache.statistics.misses == 10_000 && cache.statistics.reservedBytes == 0)
  }

  @Test func joinStartsNoLoad() {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    #expect(!cache.join(place) && cache.statistics.reservedBytes == 0)
    guard case .load(let ahead) = cache.begin(place, byteCount: 10, purpose: .prefetch) else {
      return #expect(Bool(false))
    }
    #expect(cache.join(place) && cache.statistics.prefetchesUsed == 1)
    cache.finish(ahead, .failed(Refused()))
    #expect(!cache.join(place) && cache.statistics.reservedBytes == 0)
  }

  @Test func cancelledLoadIsReplaced() {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    guard case .load(let first) = cache.begin(place, byteCount: 10) else { return #expect(Bool(false)) }
    cache.cancel(first)
    #expect(first.isCancelled)
    guard case .load(let second) = cache.begin(place, byteCount: 10) else { return #expect(Bool(false)) }
    #expect(cache.statistics.reservedBytes == 20)
    cache.finish(first, .failed(CancellationError()))
    guard case .joined = cache.begin(place, byteCount: 10) else { return #expect(Bool(false)) }
    cache.finish(second, .tile(5, byteCount: 10))
    #expect(cache.value(for: place) == 5 && cache.statistics.reservedBytes == 0)
  }

  @Test func demandTakesOverAPrefetch() {
    let cache = TileCache<TileID, Int>(byteCountMax: 1000)
    guard case .load(let ahead) = cache.begin(place, byteCount: 10, purpose: .prefetch) else {
      return #expect(Bool(false))
    }
    guard case .joined = cache.begin(place, byteCount: 10) else { return #expect(Bool(false)) }
    let answer = Mutex<Int?>(nil)
    #expect(cache.wait(for: ahead) { result in answer.withLock { $0 = try? result.get() } } != nil)
    cache.finish(ahead, .tile(9, byteCount: 10))
    #expect(answer.withLock { $0 } == 9)
    #expect(cache.statistics.prefetchesUsed == 1 && cache.statistics.unusedBytes == 0)
    #expect(cache.wait(for: ahead) { _ in } == nil, "it is over")
  }
}

/// Waits until a condition holds that other threads make true.
private func eventually(_ condition: () -> Bool) async throws {
  for _ in 0..<6000 {
    if condition() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  Issue.record("the condition did not come true within a minute")
}
