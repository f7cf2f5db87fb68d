/// Turns readings into a level: upwards at once, downwards slowly, so that memory that was just returned is not taken
/// again in the next second.
package struct PressureGauge: Sendable {
  /// The thresholds of the levels.
  package struct Marks: Hashable, Sendable {
    /// As shares of the available memory.
    package var warning = 0.80
    /// From this share on the level is critical.
    package var critical = 0.90
    /// A level ends when the share is this much below its threshold,
    package var gap = 0.05
    /// for this many seconds.
    package var recoverySeconds = 5.0

    /// The defaults.
    package init() {}
  }

  /// From which share of the memory on it is short.
  package let marks: Marks
  /// The level since the last reading.
  package private(set) var level = PressureLevel.normal
  /// Since when the share has been low enough to leave the level.
  private var lowSince: Double?

  /// A gauge at the normal level.
  package init(marks: Marks = Marks()) { self.marks = marks }

  /// Takes the readings of a check; the highest counts. Without readings no pressure is known, and the level falls
  /// after its time.
  ///
  /// - Parameter seconds: the time by any monotonic clock.
  /// - Returns: the new level.
  package mutating func take(_ readings: [PressureReading], at seconds: Double) -> PressureLevel {
    let used = readings.map(\.used).filter(\.isFinite).max() ?? 0
    let reached: PressureLevel = used >= marks.critical ? .critical : used >= marks.warning ? .warning : .normal
    if reached >= level {
      level = reached
      lowSince = nil
      return level
    }
    let own = level == .critical ? marks.critical : marks.warning
    guard used < own - marks.gap else {
      lowSince = nil
      return level
    }
    let since = lowSince ?? seconds
    lowSince = since
    guard seconds - since >= marks.recoverySeconds else { return level }
    // One level at a time, because what is loaded again may fill the memory.
    level = level == .critical && used >= marks.warning - marks.gap ? .warning : reached
    lowSince = nil
    return level
  }
}

/// The level of memory pressure.
public enum PressureLevel: Int, Comparable, Sendable, CaseIterable, CustomStringConvertible {
  /// There is enough memory.
  case normal
  /// Memory will soon be short: prefetched data should go.
  case warning
  /// The system is about to kill processes: only what is on the screen should stay.
  case critical

  public static func < (a: PressureLevel, b: PressureLevel) -> Bool { a.rawValue < b.rawValue }

  public var description: String {
    switch self {
    case .normal: "normal"
    case .warning: "warning"
    case .critical: "critical"
    }
  }
}

/// How full one kind of memory is at one moment.
package struct PressureReading: Hashable, Sendable {
  /// Where a reading comes from.
  package enum Source: Hashable, Sendable {
    /// The whole machine's memory.
    case machine
    /// The limit of a control group, identified by its folder.
    case controlGroup(String)
    /// The time that processes waited for memory.
    case stalls
    /// The operating system's own notification (Apple's platforms).
    case system
  }

  /// Where it comes from.
  package var source: Source
  /// From 0, empty, to 1, full. Above 1 where a limit was lowered below the present use.
  package var used: Double

  /// A reading; `used` is a share of 1.
  package init(_ source: Source, used: Double) {
    self.source = source
    self.used = used
  }
}

/// A source of readings: the system, or a test.
package protocol PressureReadings: Sendable {
  /// The readings that are available now; may be empty. Must not block for long, since it is called once a second.
  func readings() -> [PressureReading]
}
