import Foundation
import Synchronization

/// Descriptors that this process has open; nil where the system does not list them.
public func openDescriptorCount(ofProcess id: String = "self") -> Int? {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd"))?.count
}

/// Waits until something has come true, looking every few milliseconds; false when it has not after `seconds`.
public func eventually(seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    Thread.sleep(forTimeInterval: 0.005)
  }
  return try condition()
}

/// Does blocking work on a thread of its own, so that it may wait for what runs on Swift's few threads.
public func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
  }
}

/// Runs every step of a task on a thread of its own, where it may block.
public final class ThreadExecutor: TaskExecutor {
  public init() {}

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A value behind a lock, for closures that several threads have.
public final class Locked<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  public init(_ value: Value) { self.value = Mutex(value) }

  public func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { value in
      var copy = value
      defer { value = copy }
      return body(&copy)
    }
  }
}
