import Synchronization
import Testing

@testable import Support

struct ThreadTests {
  @Test(arguments: [1, 2, 8]) func bodyRunsOnceOnEachThread(_ count: Int) {
    let runs = Atomic(0)
    WorkerThread.run(count: count) { runs.add(1, ordering: .relaxed) }
    #expect(runs.load(ordering: .relaxed) == count)
  }

  @Test func waitingThreadsSeeWhatTheHolderChanged() throws {
    let condition = ThreadCondition()
    let value = Mutex(0)
    let thread = try #require(
      WorkerThread.start {
        condition.withLock {
          while value.withLock({ $0 }) < 3 { condition.wait() }
          value.withLock { $0 = 100 }
        }
      })
    for _ in 1...3 {
      condition.withLock {
        value.withLock { $0 += 1 }
        condition.broadcast()
      }
    }
    thread.join()
    #expect(value.withLock { $0 } == 100)
  }

  @Test func aProcessMayUseAtLeastOneProcessor() { #expect(Processors.count >= 1) }
}

struct PathTests {
  @Test(arguments: [
    ("/a/./b/../c", "/a/c"), ("//a//b/", "/a/b"), ("/../a", "/a"), ("/", "/"),
  ])
  func absolutePathsAreNormalised(_ path: String, _ expected: String) {
    #expect(FileSystem.absolutePath(path) == expected)
  }

  @Test(arguments: [
    ("/maps/usa.tif", "usa"), ("usa.2026.tif", "usa.2026"), (".hidden", ".hidden"), ("/maps/usa", "usa"),
  ])
  func stemIsTheNameWithoutItsExtension(_ path: String, _ expected: String) {
    #expect(FileSystem.stem(path) == expected)
  }
}
