import Foundation
import MemoryPressure
import TestSupport
import Testing

@testable import TileServe

/// Memory pressure. The readings are the test's; everything else is real.
@Suite(.ownThread) struct PressureTests {
  private final class Dial: PressureReadings {
    let used = Locked(0.0)
    func readings() -> [PressureReading] { [PressureReading(.machine, used: used.withLock { $0 })] }
    func turn(to value: Double) { used.withLock { $0 = value } }
  }

  @Test func cachesShrinkAndGrowWithThePressureLevel() async throws {
    let dial = Dial()
    try await serving([SampleTilesets.path]) {
      $0.missing = .overzoom
      $0.memoryPressure = dial
      $0.pressureMarks.recoverySeconds = 0.1
      $0.cacheBytes = 16 << 20
    } _: { (served) async throws in
      // The level is reported before the caches have adapted.
      func settles(_ level: Int, budget: Double) throws -> Bool {
        try eventually {
          try served.metric("tileserve_memory_pressure") == Double(level)
            && served.metric("tileserve_cache_budget_bytes") == budget
        }
      }
      let connection = try served.connect()
      func draw() throws {
        for zoom in 3...5 {
          for column in 0..<8 {
            for row in 0..<3 { #expect(try connection.request("/relief/\(zoom)/\(column)/\(row).webp").status == 200) }
          }
        }
        for target in ["/relief/0/0/0.jpg", "/relief/1/0/0.jpg"] {
          #expect(try connection.request(target).status == 200)
        }
        for target in ["/relief/1/0/0.png", "/relief/1/0/0.png"] {
          #expect(try connection.request(target).status == 200)
        }
      }
      try draw()
      let full = try #require(try served.metric("tileserve_cache_budget_bytes"))
      #expect(full == Double(8 << 20))
      let bytes = try #require(try served.metric("tileserve_cache_bytes"))
      #expect(bytes > 0)

      dial.turn(to: 0.85)
      #expect(try settles(1, budget: full / 2))

      dial.turn(to: 0.95)
      #expect(try settles(2, budget: full / 4))
      #expect(try eventually { try served.metric("tileserve_ready_bytes") == 0 })
      #expect(try eventually { try served.metric("tileserve_cache_bytes") ?? 0 < bytes })
      // All requests are still answered, and nothing is prefetched.
      let issued = try served.metric("tileserve_prefetch_issued_total")
      try draw()
      #expect(try served.metric("tileserve_prefetch_issued_total") == issued)
      // The coarse zooms are still cached.
      let misses = try served.metric("tileserve_cache_misses_total")
      #expect(try connection.request("/relief/0/0/0.jpg").status == 200)
      #expect(try served.metric("tileserve_cache_misses_total") == misses)

      dial.turn(to: 0.1)
      #expect(try settles(0, budget: full))
      try draw()
      #expect(try eventually { try served.metric("tileserve_cache_bytes") ?? 0 >= bytes / 2 })
    }
  }
}
