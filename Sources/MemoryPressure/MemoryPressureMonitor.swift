import Dispatch
import Synchronization

/// Watches how short memory is, and says when that changes.
///
/// ```swift
/// let monitor = MemoryPressureMonitor()
/// monitor.start()
/// for await level in monitor.levels() { loader.adjust(to: level) }
/// ```
///
/// A `MapLoader` of TilePrefetch then stops to load ahead and shrinks its cache; a `TileCache` without one has `adjust(to:keeping:)` too.
///
/// It looks once a second, a look takes some 100 microseconds, and sooner where the kernel raises an alarm. Levels rise at once and fall as
/// ``PressureGauge`` says.
public final class MemoryPressureMonitor: Sendable {
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
  /// One look, and the telling of what it changed, at a time: listeners hear of levels in their order.
  private let looking = Mutex(())
  private let queue = DispatchQueue(label: "memory-pressure", qos: .userInitiated)
  private let hasEnded = DispatchGroup()

  /// - Parameters:
  ///   - source: where readings come from.
  ///   - pollSeconds: from one look to the next.
  ///   - onChange: called with each new level, by the thread that looked; the next look waits for it.
  public init(
    _ source: any PressureReadings = SystemPressure(), marks: PressureGauge.Marks = .init(), pollSeconds: Double = 1,
    onChange: @escaping @Sendable (PressureLevel) -> Void = { _ in }
  ) {
    self.source = source
    pollMilliseconds = Int32(min(max(pollSeconds, 0.001), 3600) * 1000)
    alarm = PressureAlarm(.files, marks)
    self.onChange = onChange
    state = Mutex(State(gauge: PressureGauge(marks: marks)))
  }

  /// The level of the last look.
  public var level: PressureLevel { state.withLock { $0.gauge.level } }

  /// What the last look found.
  public var readings: [PressureReading] { state.withLock { $0.last } }

  /// The levels as they change, beginning with the present one. Who is slow misses those between, never the last.
  public func levels() -> AsyncStream<PressureLevel> {
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

  /// Begins to look, on a thread of its own. A monitor that runs goes on.
  public func start() {
    let starts = state.withLock { state in
      guard !state.isRunning else { return false }
      state.isRunning = true
      return true
    }
    guard starts else { return }
    queue.async(group: hasEnded) {
      while self.state.withLock({ $0.isRunning }) {
        self.look()
        // An alarm that rings on and on must not keep a core busy.
        self.alarm.rest(milliseconds: min(50, self.pollMilliseconds))
        self.alarm.wait(milliseconds: self.pollMilliseconds)
      }
    }
  }

  /// Looks no more; returns when a look under way has ended. Not to be called by `onChange`.
  public func stop() {
    state.withLock { $0.isRunning = false }
    alarm.wake()
    hasEnded.wait()
  }

  deinit {
    for listener in state.withLock({ $0.listeners }).values { listener.finish() }
  }

  /// Looks now, in addition.
  ///
  /// - Returns: the level from now on.
  @discardableResult
  public func look() -> PressureLevel {
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
