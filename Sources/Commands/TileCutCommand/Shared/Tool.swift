import CommandSupport
import LibC
import RegionCatalog
import Support
import TileCut
import TileImage
import TileIndex

/// The tool's version. It is an input of every region: when it changes, every bundle is built again.
enum ToolVersion {
  static let text = "0.1.0"

  /// With the first digits of the executable's SHA-256: other builds of the same version may cut other bytes.
  static func ofBuild() throws -> String {
    "\(text)+\(try FileHash.sha256(ofFile: FileSystem.executablePath).prefix(12))"
  }
}

/// The command that does what the remedy of an error says. Libraries know operations and files; of `tilecut` they name
/// options such as `--crs`, and a command only within a sentence on other ways, which nothing can follow.
func nextCommand(after error: any Error) -> String? {
  guard let path = (error as? any ToolkitError)?.path else {
    return (error as? CutError).flatMap { next($0, path: "-") }
  }
  return switch error {
  case let error as BundleError where error.repair == .verify: "tilecut verify \(path.shellQuoted)"
  case let error as BundleError where error.repair == .convert: "tilecut convert \(path.shellQuoted) indexed.mbtiles"
  case let error as BundleError where error.repair == .mergeShards: "tilecut merge --plan PLAN -o \(path.shellQuoted)"
  case let error as BundleError where error.repair == .cut: "tilecut cut \(path.shellQuoted) -o NAME.mbtiles"
  case let error as BundleError where error.code == .notFound: listing(around: path)
  case let error as CutError: next(error, path: path) ?? (error.code == .unreadableSource ? listing(around: path) : nil)
  default: nil
  }
}

private func next(_ error: CutError, path: String) -> String? {
  switch error.repair {
  case nil: nil
  case .nameCRS(let likely): "tilecut cut \(path.shellQuoted) -o OUT.mbtiles --crs \(likely ?? "EPSG:NUMBER")"
  case .sendRaster: "tilecut cut - ... < map.tif"
  case .makePlan: "tilecut plan"
  case .cutShard(let shard, let plan):
    "tilecut cut --plan \(plan.shellQuoted) --shard \(shard.map(String.init) ?? "N")"
  case .buildShards(let plan): "tilecut build --plan \(plan.shellQuoted) --shard N"
  }
}

/// The exit code for an error of our libraries; nil for others. docs/reference/exit-codes.md has the table.
func exitStatus(of error: any Error) -> ExitStatus? {
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
    case .malformed, .damagedTile, .tooCostly, .invalidContent, .mismatch, .conflict: .badInput
    case .busy, .changed, .tooManyOpenFiles: .busy
    case .exists: .cannotCreate
    case .writeFailed: .outputFailed
    default: .internalError
    }
  case let error as ManifestError: error.code == .unreadable ? .unreadableInput : .badInput
  case let error as GazetteerError: error.code == .unreadable ? .unreadableInput : .badInput
  case is ImageError: .badInput
  case let error as TrackError: error.code == .unreadable ? .unreadableInput : .badInput
  case let error as CatalogBuildFailure: exitStatus(of: error.first) ?? .internalError
  case let error as CatalogBuildError:
    switch error.code {
    case .busy: .busy
    case .invalidOption: .usage
    case .unreadableInput: .unreadableInput
    case .unwritableOutput: .outputFailed
    case .orphansOwners: .cannotCreate
    default: .internalError
    }
  default: nil
  }
}
