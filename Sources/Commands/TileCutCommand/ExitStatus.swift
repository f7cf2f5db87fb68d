import Gazetteer
import RegionCatalog
import TileCut
import TileImage
import TileIndex

/// What the process tells its caller. The numbers are those of sysexits.h where it has one; README.md has the table.
enum ExitStatus: Int32 {
  case faultsFound = 1
  case usage = 64
  case badInput = 65
  case unreadableInput = 66
  case internalError = 70
  case outputExists = 73
  case outputFailed = 74
  case busy = 75
  case interrupted = 130

  /// The status for an error of our libraries; nil for errors that are not theirs.
  init?(of error: any Error) {
    switch error {
    case let error as CutError: self = Self.status[error.code] ?? .internalError
    case let error as BundleError:
      switch error.code {
      case .isInput: self = .usage
      case .notFound, .readFailed: self = .unreadableInput
      // Content that may not be stored comes from a manifest.
      case .malformed, .invalidContent, .mismatch: self = .badInput
      case .busy, .tooManyOpenFiles: self = .busy
      case .exists: self = .outputExists
      case .writeFailed: self = .outputFailed
      default: self = .internalError
      }
    case let error as ManifestError: self = error.code == .unreadable ? .unreadableInput : .badInput
    case let error as GazetteerError: self = error.code == .unreadable ? .unreadableInput : .badInput
    case is ImageError: self = .badInput
    case let error as TrackError: self = error.isUnreadable ? .unreadableInput : .badInput
    case let error as ShelfFailure: self = ExitStatus(of: error.first) ?? .internalError
    case let error as ShelfError:
      switch error.code {
      case .busy: self = .busy
      case .invalidOption: self = .usage
      case .unreadableInput: self = .unreadableInput
      case .unwritableOutput: self = .outputFailed
      default: self = .internalError
      }
    default: return nil
    }
  }

  private static let status: [CutError.Code: ExitStatus] = [
    .invalidOption: .usage, .unreadableSource: .unreadableInput, .badSource: .badInput, .noGeoreference: .badInput,
    .unwritableOutput: .outputFailed, .cancelled: .interrupted,
  ]
}
