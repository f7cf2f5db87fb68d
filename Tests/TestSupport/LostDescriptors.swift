import Foundation
import LibC
import Synchronization

/// Opens files on another thread while a closure runs again and again, and counts those that somebody else closed: who
/// closes a descriptor twice closes another thread's file, if that was opened in between.
public func lostDescriptors(whileRunning body: () -> Void, rounds: Int = 40_000) -> Int {
  final class Counts: Sendable {
    let lost = Atomic(0)
    let isDone = Atomic(false)
    let end = DispatchSemaphore(value: 0)
  }
  let counts = Counts()
  Thread.detachNewThread {
    while !counts.isDone.load(ordering: .relaxed) {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      sched_yield()
      if close(descriptor) != 0 { counts.lost.add(1, ordering: .relaxed) }
    }
    counts.end.signal()
  }
  for _ in 0..<rounds where counts.lost.load(ordering: .relaxed) == 0 { body() }
  counts.isDone.store(true, ordering: .relaxed)
  counts.end.wait()
  return counts.lost.load(ordering: .relaxed)
}
