/// How short memory is.
public enum PressureLevel: Int, Comparable, Sendable, CaseIterable, CustomStringConvertible {
  /// There is enough.
  case normal
  /// Soon there will not be: what was loaded ahead should go.
  case warning
  /// The system is about to end processes: only what is on the screen should stay.
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
