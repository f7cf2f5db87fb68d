import ArgumentParser
import CommandSupport
import Gazetteer
import RegionCatalog
import TileCut
import TileImage
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// `tilecut`: cuts raster maps into bundles, and looks at bundles.
@main
struct TileCutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tilecut",
    abstract: "Cuts raster maps into tile bundles (MBTiles, PMTiles, GeoPackage, folders).",
    usage: """
      tilecut <subcommand>
      tilecut --version
      """,
    discussion: """
      Exit codes: 0 done; 1 verify found faults, or doctor problems; 64 wrong usage; 65 an input is damaged, cannot \
      be cut, or does not fit another; 66 an input cannot be read; 70 internal error; 71 the system lacks memory, a \
      library or its data; 73 the output exists already; 74 the output cannot be written; 75 a bundle is busy, try \
      again; 129, 130 or 143 stopped by a signal.
      """,
    subcommands: [
      CutCommand.self, PlanCommand.self, MissingCommand.self, BuildCommand.self, PacksCommand.self,
      MetadataCommand.self, InspectCommand.self,
      VerifyCommand.self,
      PreviewCommand.self, ExtractCommand.self, MergeCommand.self, ConvertCommand.self, TexturesCommand.self,
      DiffCommand.self,
      ApplyCommand.self,
      PlacesCommand.self, DoctorCommand.self,
    ])

  static func main() {
    StandardStreams.reserve()
    CommandProcess(Self.self, status: status, outputFailed: .outputFailed).run {
      // The parser's own --version would exist in every subcommand, and conflict with `cut --version 7`, the version
      // of the tileset.
      if CommandLine.arguments.dropFirst() == ["--version"] { throw CleanExit.message(ToolVersion.text) }
      var command = try parseAsRoot()
      do {
        try command.run()
      } catch let error as BundleError where error.code == .exists && error.remedy?.contains("--") != true {
        // Libraries know no options.
        throw BundleError(
          .exists, path: error.path, error.message, remedy: "choose another name, or replace it with --force")
      }
    }
  }

  /// The exit code for an error of our libraries; nil for others. docs/reference/exit-codes.md has the table.
  static func status(of error: any Error) -> ExitStatus? {
    switch error {
    case let error as CutError:
      switch error.code {
      case .invalidOption: .usage
      case .unreadableSource: .unreadableInput
      case .badSource, .noGeoreference: .badInput
      case .unwritableOutput: .outputFailed
      case .systemError: .systemError
      case .cancelled: .signal(SIGINT)
      default: .internalError
      }
    case let error as BundleError:
      switch error.code {
      case .isInput, .invalidName: .usage
      case .notFound, .readFailed: .unreadableInput
      // Content that may not be stored comes from a manifest.
      case .malformed, .invalidContent, .mismatch, .conflict: .badInput
      case .busy, .tooManyOpenFiles: .busy
      case .exists: .cannotCreate
      case .writeFailed: .outputFailed
      default: .internalError
      }
    case let error as ManifestError: error.code == .unreadable ? .unreadableInput : .badInput
    case let error as GazetteerError: error.code == .unreadable ? .unreadableInput : .badInput
    case is ImageError: .badInput
    case let error as TrackError: error.isUnreadable ? .unreadableInput : .badInput
    case let error as CatalogBuildFailure: status(of: error.first) ?? .internalError
    case let error as CatalogBuildError:
      switch error.code {
      case .busy: .busy
      case .invalidOption: .usage
      case .unreadableInput: .unreadableInput
      case .unwritableOutput: .outputFailed
      default: .internalError
      }
    default: nil
    }
  }
}
