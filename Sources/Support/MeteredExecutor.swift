import Synchronization

/// Gives the jobs of one task to a pool of threads, and adds up the processor time that they take.
final class MeteredExecutor: TaskExecutor {
  private struct State {
    var nanoseconds = 0
    /// By thread, its clock when the job began that it runs now.
    var starts: [WorkerThread.ID: Int] = [:]
  }

  private let threads: ThreadPool
  private let state = Mutex(State())

  init(_ threads: ThreadPool) { self.threads = threads }

  /// The processor time of the jobs that have ended, and of those that ran when they called ``read()``.
  var nanoseconds: Int { state.withLock { $0.nanoseconds } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.run { [self] in
      state.withLock { $0.starts[WorkerThread.current] = ThreadClock.nanoseconds }
      job.runSynchronously(on: asUnownedTaskExecutor())
      read()
      state.withLock { $0.starts[WorkerThread.current] = nil }
    }
  }

  /// Adds what the current thread has computed so far: a task goes on elsewhere before its last job has ended.
  func read() {
    let now = ThreadClock.nanoseconds
    state.withLock { state in
      guard let start = state.starts.updateValue(now, forKey: WorkerThread.current) else { return }
      state.nanoseconds += now - start
    }
  }
}

/// A few threads, which start with the first job.
///
/// Swift's own threads, and Dispatch's, are as many as the processors: work that computes would keep them from all
/// else.
final class ThreadPool: @unchecked Sendable {
  private let count: Int
  private let condition = ThreadCondition()
  // All under the condition's lock.
  private var jobs: [@Sendable () -> Void] = []
  private var threadCount = 0
  private var isOver = false

  init(count: Int) { self.count = count }

  func run(_ job: @escaping @Sendable () -> Void) {
    let hasThreads = condition.withLock {
      while threadCount < count, let thread = WorkerThread.start({ self.runJobs() }) {
        thread.detach()
        threadCount += 1
      }
      if threadCount > 0 { jobs.append(job) }
      return threadCount > 0
    }
    // The system allows no thread at all.
    guard hasThreads else { return job() }
    condition.signal()
  }

  /// Ends the threads once they have nothing to do.
  func stop() {
    condition.withLock { isOver = true }
    condition.broadcast()
  }

  private func runJobs() {
    while let job = next() { job() }
  }

  private func next() -> (@Sendable () -> Void)? {
    condition.withLock {
      while jobs.isEmpty {
        if isOver { return nil }
        condition.wait()
      }
      return jobs.removeFirst()
    }
  }
}
