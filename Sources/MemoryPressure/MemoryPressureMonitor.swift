import CSystemShim
import Dispatch
import Synchronization

/// Monitors memory pressure and reports changes of its level.
///
/// ```swift
/// let monitor = MemoryPressureMonitor()
/// monitor.start()
/// for await level in monitor.levels() { loader.adjust(to: level) }
/// ```
///
/// A `MapLoader` of TilePrefetch then stops prefetching and shrinks its cache. A `TileCache` without a loader has
/// `adjust(to:keeping:)` too.
///
/// It checks once a second, which takes about 100 microseconds, and sooner when the kernel notifies it. The level rises
/// at once and falls as ``PressureGauge`` defines.
package final class MemoryPressureMonitor: Sendable {
  private struct State {
    var gauge: PressureGauge
    var last: [PressureReading] = []
    var isRunning = false
    var listeners: [Int: AsyncStream<PressureLevel>.Continuation] = [:]
    var nextListener = 0
  }

  private let source: any PressureReadings
  private let pollMilliseconds: Int32
  private let alarm: PressureAlarm
  private let onChange: @Sendable (PressureLevel) -> Void
  private let state: Mutex<State>
  /// Serialises a check and the calls of its listeners, so that listeners get levels in order.
  private let looking = Mutex(())
  private let queue = DispatchQueue(label: "memory-pressure", qos: .userInitiated)
  private let hasEnded = DispatchGroup()

  /// A monitor that does not check yet: ``start()`` begins.
  ///
  /// - Parameters:
  ///   - source: where readings come from.
  ///   - pollSeconds: the interval between checks.
  ///   - onChange: called with each new level, on the thread that checked. The next check waits for it.
  package init(
    _ source: any PressureReadings = SystemPressure(), marks: PressureGauge.Marks = .init(), pollSeconds: Double = 1,
    onChange: @escaping @Sendable (PressureLevel) -> Void = { _ in }
  ) {
    self.source = source
    pollMilliseconds = Int32(min(max(pollSeconds, 0.001), 3600) * 1000)
    alarm = PressureAlarm(.files, marks)
    self.onChange = onChange
    state = Mutex(State(gauge: PressureGauge(marks: marks)))
  }

  /// The level of the last check.
  package var level: PressureLevel { state.withLock { $0.gauge.level } }

  /// The readings of the last check.
  package var readings: [PressureReading] { state.withLock { $0.last } }

  /// The levels as they change, starting with the present one. A slow consumer misses intermediate levels, but never
  /// the last one.
  package func levels() -> AsyncStream<PressureLevel> {
    let (stream, continuation) = AsyncStream<PressureLevel>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      continuation.yield(state.gauge.level)
      state.nextListener += 1
      state.listeners[state.nextListener] = continuation
      return state.nextListener
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }
    return stream
  }

  /// Starts checking on a thread of its own. Does nothing if the monitor is running.
  package func start() {
    let starts = state.withLock { state in
      guard !state.isRunning else { return false }
      state.isRunning = true
      return true
    }
    guard starts else { return }
    queue.async(group: hasEnded) {
      while self.state.withLock({ $0.isRunning }) {
        self.look()
        // A notification that repeats forever must not keep a core busy.
        self.alarm.rest(milliseconds: min(50, self.pollMilliseconds))
        self.alarm.wait(milliseconds: self.pollMilliseconds)
      }
    }
  }

  /// Stops checking, and returns when a check in progress has ended. Must not be called by `onChange`.
  package func stop() {
    state.withLock { $0.isRunning = false }
    alarm.wake()
    hasEnded.wait()
  }

  deinit {
    for listener in state.withLock({ $0.listeners }).values { listener.finish() }
  }

  /// Checks now, in addition to the regular checks.
  ///
  /// - Returns: the new level.
  @discardableResult
  package func look() -> PressureLevel {
    looking.withLock { _ in
      let readings = source.readings()
      let now = Double(DispatchTime.now().uptimeNanoseconds) / 1e9
      let (level, hasChanged, listeners) = state.withLock { state in
        let before = state.gauge.level
        let level = state.gauge.take(readings, at: now)
        state.last = readings
        return (level, level != before, Array(state.listeners.values))
      }
      if hasChanged {
        onChange(level)
        for listener in listeners { listener.yield(level) }
      }
      return level
    }
  }
}

/// Memory that the process has freed and its allocator still holds.
package enum FreeMemory {
  /// Returns it to the system. After freeing 80% of 288 MB of tile buffers, glibc held all 288 MB before this call and
  /// 122 MB after (measured).
  ///
  /// Takes some milliseconds per 100 MB. Does nothing where the allocator returns memory by itself.
  package static func giveBack() { csystem_trim_allocator() }
}
