import Foundation

/// Runs jobs on several threads and accepts their results in the jobs' order, one at a time.
///
/// There is no thread for accepting: the worker that completes the result that is due accepts it and those waiting
/// after it, then continues. The number of waiting results is bounded, because a worker that is too far ahead waits
/// before it takes its next job.
final class OrderedWork<Job, Result>: @unchecked Sendable {
  private let condition = NSCondition()
  private var jobs: AnyIterator<Job>
  private var issued = 0
  private var accepted = 0
  private var isAccepting = false
  /// Threads that have begun to work and have not finished.
  private var working = 0
  private var isOver = false
  private var results: [Int: Result] = [:]
  private var failure: (index: Int, error: any Error)?
  private let aheadMax: Int
  private let accept: (Result) throws -> Void

  /// - Parameters:
  ///   - aheadMax: how many jobs may be in progress or waiting to be accepted.
  ///   - accept: called in the jobs' order, by one thread at a time.
  init(_ jobs: AnyIterator<Job>, aheadMax: Int, accept: @escaping (Result) throws -> Void) {
    self.jobs = jobs
    self.aheadMax = aheadMax
    self.accept = accept
  }

  /// Runs all jobs and returns when their results are accepted.
  ///
  /// The calling thread works too, and it waits for work in progress, not for threads: a thread that the system has no
  /// memory for never starts, and Foundation does not say so.
  ///
  /// - Parameters:
  ///   - threads: how many work, with the calling one.
  ///   - makeWorker: called once on each thread; returns the function that runs that thread's jobs.
  /// - Throws: the error of the earliest job that failed; no later result is accepted.
  func run(threads: Int, makeWorker: @escaping () throws -> (Job) throws -> Result) throws {
    nonisolated(unsafe) let makeWorker = makeWorker
    for _ in 1..<max(threads, 1) {
      let thread = Thread { self.takePart(makeWorker) }
      thread.stackSize = 4 << 20
      thread.start()
    }
    takePart(makeWorker)
    condition.lock()
    while working > 0 { condition.wait() }
    isOver = true
    condition.unlock()
    if let failure { throw failure.error }
  }

  private func takePart(_ makeWorker: () throws -> (Job) throws -> Result) {
    condition.lock()
    let isLate = isOver
    if !isLate { working += 1 }
    condition.unlock()
    guard !isLate else { return }
    work(makeWorker)
    condition.lock()
    working -= 1
    condition.broadcast()
    condition.unlock()
  }

  private func work(_ makeWorker: () throws -> (Job) throws -> Result) {
    let worker: (Job) throws -> Result
    do {
      worker = try makeWorker()
    } catch {
      fail(error, at: -1)
      return
    }
    while let (index, job) = next() {
      do {
        let result = try worker(job)
        try handOver(result, at: index)
      } catch {
        fail(error, at: index)
        return
      }
    }
  }

  private func next() -> (index: Int, job: Job)? {
    condition.lock()
    defer { condition.unlock() }
    while failure == nil, issued - accepted >= aheadMax { condition.wait() }
    guard failure == nil, let job = jobs.next() else { return nil }
    issued += 1
    return (issued - 1, job)
  }

  private func handOver(_ result: Result, at index: Int) throws {
    condition.lock()
    defer { condition.unlock() }
    results[index] = result
    guard !isAccepting else { return }
    isAccepting = true
    defer { isAccepting = false }
    while failure == nil, let due = results.removeValue(forKey: accepted) {
      condition.unlock()
      do {
        try accept(due)
      } catch {
        condition.lock()
        throw error
      }
      condition.lock()
      accepted += 1
      condition.broadcast()
    }
  }

  private func fail(_ error: any Error, at index: Int) {
    condition.lock()
    if failure.map({ index < $0.index }) ?? true { failure = (index, error) }
    condition.broadcast()
    condition.unlock()
  }
}
