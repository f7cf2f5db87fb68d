import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TileCut

@Suite(.ownThread) struct OrderedWorkTests {
  private struct Failure: Error, Equatable { let job: Int }

  @Test(arguments: [1, 2, 7])
  func resultsComeInOrder(threads: Int) throws {
    var accepted: [Int] = []
    let work = OrderedWork<Int, Int>(AnyIterator((0..<500).makeIterator()), aheadMax: 2 * threads + 2) {
      accepted.append($0)
    }
    try work.run(threads: threads) {
      { job in
        // Makes later jobs finish before earlier ones.
        if job % 7 == 0 { usleep(300) }
        return job
      }
    }
    #expect(accepted == Array(0..<500))
  }

  /// A thread that the system has no memory for never starts, and nobody says so.
  @Test func callingThreadWorksToo() throws {
    let caller = Thread.current
    var own = 0
    let work = OrderedWork<Int, Int>(AnyIterator((0..<20).makeIterator()), aheadMax: 4) { _ in }
    try work.run(threads: 1) {
      { job in
        if Thread.current === caller { own += 1 }
        return job
      }
    }
    #expect(own == 20)
  }

  @Test func jobsInProgressAreBounded() throws {
    let inProgress = Mutex((now: 0, most: 0))
    let work = OrderedWork<Int, Int>(AnyIterator((0..<200).makeIterator()), aheadMax: 5) { _ in
      inProgress.withLock { $0.now -= 1 }
    }
    try work.run(threads: 4) {
      { job in
        inProgress.withLock {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
        if job % 10 == 0 { usleep(2000) }
        return job
      }
    }
    #expect(inProgress.withLock { $0.most } <= 5)
  }

  @Test(arguments: [1, 4])
  func earliestFailureIsThrownAndNoLaterResultAccepted(threads: Int) {
    var accepted: [Int] = []
    let work = OrderedWork<Int, Int>(AnyIterator((0..<100).makeIterator()), aheadMax: 6) { accepted.append($0) }
    #expect(throws: Failure(job: 40)) {
      try work.run(threads: threads) {
        { job in
          if job == 40 { usleep(2000) }
          if job == 40 || job == 41 { throw Failure(job: job) }
          return job
        }
      }
    }
    #expect(accepted == Array(0..<accepted.count))
    #expect(accepted.count <= 40)
  }

  @Test func failureToAcceptStopsTheWork() {
    let work = OrderedWork<Int, Int>(AnyIterator((0..<100).makeIterator()), aheadMax: 6) {
      if $0 == 3 { throw Failure(job: 3) }
    }
    #expect(throws: Failure(job: 3)) { try work.run(threads: 3) { { $0 } } }
  }

  @Test func failureToMakeAWorkerIsThrown() {
    let work = OrderedWork<Int, Int>(AnyIterator((0..<100).makeIterator()), aheadMax: 6) { _ in }
    #expect(throws: Failure(job: -1)) { try work.run(threads: 3) { throw Failure(job: -1) } }
  }
}
