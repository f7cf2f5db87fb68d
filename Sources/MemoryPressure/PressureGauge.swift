/// Turns readings into a level: at once upwards, slowly downwards, so that memory that was just given back is not taken again in the next second.
public struct PressureGauge: Sendable {
  /// Where the levels begin.
  public struct Marks: Hashable, Sendable {
    /// Shares of what may be used.
    public var warning = 0.80
    public var critical = 0.90
    /// A level is left only when the share is this much below its mark,
    public var gap = 0.05
    /// and has been so for this many seconds.
    public var recoverySeconds = 5.0

    public init() {}
  }

  public let marks: Marks
  public private(set) var level = PressureLevel.normal
  /// Since when the share has been low enough to leave the level.
  private var lowSince: Double?

  public init(marks: Marks = Marks()) { self.marks = marks }

  /// Takes a look's readings; the fullest counts. Where nothing can be read no pressure is known, and the level falls in its time.
  ///
  /// - Parameter seconds: of any clock that does not run backwards.
  /// - Returns: the level from now on.
  public mutating func take(_ readings: [PressureReading], at seconds: Double) -> PressureLevel {
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
    // One level at a time: what comes back may fill memory again.
    level = level == .critical && used >= marks.warning - marks.gap ? .warning : reached
    lowSince = nil
    return level
  }
}
