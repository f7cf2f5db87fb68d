import Foundation
import TestSupport
import Testing

/// The cache's budget limits the process's real memory.
@Suite(.ownThread) struct CacheMemoryTests {
  #if os(Linux)
    /// `LONG_TESTS=full` takes a million operations.
    @Test func cacheKeepsAProcessWithinItsBudget() throws {
      let budget = 24 << 20
      let run = try Command(built: "CacheBench").run(
        ["memory", "\(budget)", TestEffort.isFull ? "1000000" : "6000"], timeout: 600)
      #expect(run.status == 0, "\(run)")
      let words = run.stdout.split(whereSeparator: \.isWhitespace)
      let base = try #require(words.firstIndex(of: "base").flatMap { Int(words[$0 + 1]) })
      let peak = try #require(words.firstIndex(of: "peak").flatMap { Int(words[$0 + 1]) })
      // The allocator keeps free memory between buffers of different sizes: a quarter was measured, with the tile that
      // is being made.
      #expect(peak > base + budget / 1024 / 2 && peak <= base + budget / 1024 * 13 / 10 + 1024, "\(run)")
    }
  #endif
}
