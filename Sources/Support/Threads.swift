import CSystemShim
import LibC

/// A thread of the system's, without Foundation. It ends with its body.
package struct WorkerThread {
  fileprivate final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private let thread: pthread_t

  /// Starts a thread.
  ///
  /// - Parameter stackBytes: the size of its stack.
  /// - Returns: nil when the system allows no more threads.
  package static func start(stackBytes: Int = 4 << 20, _ body: @escaping @Sendable () -> Void) -> WorkerThread? {
    let argument = Unmanaged.passRetained(Body(body)).toOpaque()
    #if canImport(Darwin)
      var thread: pthread_t?
      if csystem_start_thread(&thread, stackBytes, runBody, argument) == 0 { return WorkerThread(thread: thread!) }
    #else
      var thread = pthread_t()
      if csystem_start_thread(&thread, stackBytes, runBody, argument) == 0 { return WorkerThread(thread: thread) }
    #endif
    Unmanaged<Body>.fromOpaque(argument).release()
    return nil
  }

  typealias ID = pthread_t

  /// What no other running thread has.
  static var current: ID { pthread_self() }

  /// Waits until the thread has ended. Every thread is joined once, or detached.
  package func join() { pthread_join(thread, nil) }

  /// Lets the thread run on its own.
  package func detach() { pthread_detach(thread) }

  /// Runs a body on several threads at the same time, the calling one among them, and returns when all have ended. What
  /// cancels the caller's work cancels theirs.
  ///
  /// If the system allows fewer threads, those run the body.
  package static func run(count: Int, _ body: @escaping @Sendable () -> Void) {
    let cancellation = Cancellation.current
    let part: @Sendable () -> Void = { if let cancellation { cancellation.run(body) } else { body() } }
    var threads: [WorkerThread] = []
    while threads.count + 1 < count, let thread = start(part) { threads.append(thread) }
    body()
    for thread in threads { thread.join() }
  }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<WorkerThread.Body>.fromOpaque(argument!).takeRetainedValue().run()
  return nil
}

/// A lock whose holder can wait until another thread changes what it protects.
package final class ThreadCondition: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    condition.deallocate()
  }

  package func lock() { pthread_mutex_lock(mutex) }
  package func unlock() { pthread_mutex_unlock(mutex) }

  /// Releases the lock, waits for ``broadcast()`` and takes the lock again. May return without a reason.
  package func wait() { pthread_cond_wait(condition, mutex) }

  package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  package func broadcast() { pthread_cond_broadcast(condition) }
  /// Wakes one of those that wait: enough where any of them does what there is.
  package func signal() { pthread_cond_signal(condition) }
}

package enum Processors {
  /// The processors that this process may use.
  package static var count: Int { Int(csystem_processor_count()) }
}
