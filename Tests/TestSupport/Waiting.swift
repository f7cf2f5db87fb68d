import Foundation
import Synchronization

/// The number of a process's open descriptors; nil where the system does not list them.
public func openDescriptorCount(ofProcess id: String = "self") -> Int? {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd"))?.count
}

/// Waits until a condition is true, checking every few milliseconds; false when it is not after `seconds`.
public func eventually(seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    Thread.sleep(forTimeInterval: 0.005)
  }
  return try condition()
}

/// Runs blocking work on its own thread, so that it may wait for tasks on Swift's few threads.
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

/// A value behind a lock, for closures on several threads.
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
