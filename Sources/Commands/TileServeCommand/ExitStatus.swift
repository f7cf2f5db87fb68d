import PrefetchReplay
import TileServe

/// What the process tells its caller; the numbers are those of sysexits.h. README.md has the table.
enum ExitStatus: Int32 {
  case usage = 64
  case malformedInput = 65
  case unreadableInput = 66
  case unavailable = 69
  case internalError = 70
  case cannotWrite = 74
  case configuration = 78

  /// The status for an error of ours; nil for the argument parser's.
  init?(of error: any Error) {
    switch error {
    case let error as SettingsError: self = error.status
    case let error as ServeError:
      switch error.code {
      case .cannotListen: self = .unavailable
      case .invalidOption: self = .unreadableInput
      default: self = .internalError
      }
    case let error as ReplayError: self = error.code == .missingInput ? .unreadableInput : .malformedInput
    default: return nil
    }
  }
}

/// Options that cannot be met.
struct SettingsError: Error, CustomStringConvertible {
  let status: ExitStatus
  let description: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    description = message
  }
}
