/// How full one kind of memory is at one moment.
public struct PressureReading: Hashable, Sendable {
  public enum Source: Hashable, Sendable {
    /// The whole machine's memory.
    case machine
    /// What a control group may use, by its folder.
    case controlGroup(String)
    /// The time that processes waited for memory.
    case stalls
    /// What the operating system said by itself (Apple's platforms).
    case system
  }

  public var source: Source
  /// From 0, empty, to 1, nothing left. Above 1 where a limit was lowered below what is used.
  public var used: Double

  public init(_ source: Source, used: Double) {
    self.source = source
    self.used = used
  }
}

/// Where readings come from: the system, or a test.
public protocol PressureReadings: Sendable {
  /// What can be read now; empty when nothing can. Must not block for long: called once a second.
  func readings() -> [PressureReading]
}
