import TestSupport
import Testing

@testable import MemoryPressure

@Suite(.ownThread) struct MemoryPressureMonitorTests {
  /// Readings that tests set.
  private final class Dial: PressureReadings {
    let used = Locked(0.0)
    let looks = Locked(0)
    func readings() -> [PressureReading] {
      looks.withLock { $0 += 1 }
      return [PressureReading(.machine, used: used.withLock { $0 })]
    }
  }

  private static var quick: PressureGauge.Marks {
    var marks = PressureGauge.Marks()
    marks.recoverySeconds = 0.05
    return marks
  }

  @Test func levelChangesAreReported() async throws {
    let dial = Dial()
    let told = Locked<[PressureLevel]>([])
    let monitor = MemoryPressureMonitor(dial, marks: Self.quick, pollSeconds: 0.01) { level in
      told.withLock { $0.append(level) }
    }
    monitor.start()
    monitor.start()
    defer { monitor.stop() }
    for (used, level) in [(0.85, PressureLevel.warning), (0.95, .critical), (0.1, .normal)] {
      dial.used.withLock { $0 = used }
      #expect(try await onThread { eventually { monitor.level == level } })
    }
    #expect(try await onThread { eventually { told.withLock { $0 } == [.warning, .critical, .normal] } })
    #expect(monitor.readings == [PressureReading(.machine, used: 0.1)])
  }

  @Test func stopEndsTheChecks() async throws {
    let dial = Dial()
    let monitor = MemoryPressureMonitor(dial, pollSeconds: 3600)
    monitor.start()
    #expect(try await onThread { eventually { dial.looks.withLock { $0 } == 1 } })
    // A wait of an hour ends at once.
    try await onThread { monitor.stop() }
    let looks = dial.looks.withLock { $0 }
    dial.used.withLock { $0 = 0.99 }
    #expect(monitor.level == .normal && dial.looks.withLock { $0 } == looks)
    #expect(monitor.look() == .critical)
  }

  @Test func streamsStartWithTheLevelAndEndWithTheMonitor() async throws {
    let dial = Dial()
    dial.used.withLock { $0 = 0.85 }
    var seen: [PressureLevel] = []
    var monitor: MemoryPressureMonitor? = MemoryPressureMonitor(dial)
    monitor?.look()
    let levels = monitor!.levels()
    var iterator = levels.makeAsyncIterator()
    seen.append(await iterator.next()!)
    dial.used.withLock { $0 = 0.95 }
    monitor?.look()
    seen.append(await iterator.next()!)
    #expect(seen == [.warning, .critical])
    monitor = nil
    let last = await iterator.next()
    #expect(last == nil)
  }

  /// The files of this machine can be read.
  @Test func filesOfThisSystemAreRead() {
    let readings = SystemPressure().readings()
    #expect(readings.contains { $0.source == .machine || $0.source == .system })
    for reading in readings { #expect(reading.used >= 0 && reading.used < 10, "\(reading)") }
  }
}
