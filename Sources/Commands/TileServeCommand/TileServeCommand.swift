import ArgumentParser
import CSystemShim
import CommandConfiguration
import CommandSupport
import Logging
import PrefetchReplay
import Support
import TileServe

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// `tileserve`: serves bundles over HTTP.
@main
struct TileServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tileserve",
    abstract: "Serves tile bundles (MBTiles, PMTiles, GeoPackage, folders of tiles) over HTTP, offline.",
    discussion: """
      Every option can also be given in the configuration file (--config, JSON: publicUrl for --public-url) or in the \
      environment: TILESERVE_PUBLIC_URL. Flags win over the environment, the environment over the file.

      tileserve replay --help: replays recorded map sessions, to choose a cache's budget.

      Exit codes: 0 ended by a signal after all requests were answered; 64 wrong usage; 65 none of the files is a \
      bundle; 66 a path is not there, or certificate and key cannot be used; 69 the address cannot be listened on; 70 internal error; 78 the \
      configuration file is wrong.
      """,
    version: TileServer.version)

  @OptionGroup var flags: TileServeFlags

  static func main() {
    StandardStreams.reserve()
    limitAllocator()
    // Before other threads start, because they must not receive the signals.
    let signals = SignalWatch()
    var arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "--generate-completion-script" { CompletedCommand.main(arguments) }
    if arguments.first == "help" { arguments = arguments.dropFirst() + ["--help"] }
    // Not a subcommand of the argument parser, so that `tileserve PATH` and its help stay unchanged. A bundle named
    // replay can be given as ./replay.
    guard arguments.first == "replay" else {
      let given = arguments
      CommandProcess(Self.self, status: status, next: next, outputFailed: nil)
        .runAsynchronously { try await parse(given).serve(signals) }
    }
    CommandProcess(ReplayCommand.self, name: "tileserve", status: status, next: next, outputFailed: .outputFailed)
      .run { try ReplayCommand.parse(Array(arguments.dropFirst())).run() }
  }

  /// What completion scripts know: `replay` as if it were a subcommand of the argument parser.
  private struct CompletedCommand: ParsableCommand {
    struct Replay: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "replay", abstract: ReplayCommand.configuration.abstract)
      @OptionGroup var options: ReplayCommand
    }

    static let configuration = CommandConfiguration(
      commandName: "tileserve", abstract: TileServeCommand.configuration.abstract, version: TileServer.version,
      subcommands: [Replay.self])
    @OptionGroup var flags: TileServeFlags
  }

  /// Makes glibc's allocator return free memory to the system. Must be called before other threads start.
  ///
  /// glibc gives each thread an arena, which keeps the thread's maximum: 16 rendering workers hold 60 MB that they do
  /// not use. Two arenas, and pixel buffers in mappings of their own, take 87 MB where the defaults take 120 (64 MB of
  /// cache, docs/reference/performance.md).
  private static func limitAllocator() { csystem_limit_allocator(2, 131_072) }

  func serve(_ signals: SignalWatch) async throws {
    let settings = try TileServeSettings(flags)
    LoggingSystem.bootstrap { _ in ErrorLog(level: settings.logLevel) }
    let registry = try TilesetRegistry(settings.paths)
    try settings.check(registry)
    // From the first connection on, a signal waits for requests.
    let end = AsyncStream<Void>.makeStream()
    signals.whenStopped { end.continuation.yield() }
    let server = try await TileServer.start(registry, settings.options, accessLog: settings.accessLog)
    await registry.findBroken()
    try Self.requireTilesets(registry)
    Self.greeting(registry, server, settings).forEach(printLine)
    _ = StandardStreams.flush()
    ServiceManager.ready("serving \(counted(registry.readableTilesets.count, "tileset"))")
    for await _ in end.stream { break }
    ServiceManager.stopping()
    // The delay is for load balancers; Ctrl-C needs none.
    try await server.shutdown(afterSeconds: signals.received == SIGTERM ? settings.drainDelaySeconds : 0)
    await registry.close()
    // Not earlier: a second signal during the drain must end the process.
    signals.stop()
  }

  /// Refuses files none of which can be served. In a folder bundles may appear later.
  private static func requireTilesets(_ registry: TilesetRegistry) throws {
    guard registry.readableTilesets.isEmpty, let failure = registry.failures.min(by: { $0.key < $1.key }) else {
      return
    }
    guard registry.paths.allSatisfy({ (try? FileSystem.status($0))?.kind != .folder }) else { return }
    throw ServeError(.unavailable, line(failure.key, failure.value), path: registry.paths.first)
  }

  /// Why something is not served; the reason of a file begins with its name.
  private static func line(_ place: String, _ reason: String) -> String {
    reason.hasPrefix("\(place):") ? reason : "\(place): \(reason)"
  }

  /// The text that the command prints once it is listening.
  private static func greeting(_ registry: TilesetRegistry, _ server: TileServer, _ settings: TileServeSettings)
    -> [String]
  {
    let tilesets = registry.readableTilesets
    var lines = ["serving \(counted(tilesets.count, "tileset")) from \(settings.paths.joined(separator: ", "))"]
    if tilesets.isEmpty, registry.failures.isEmpty, let folder = settings.paths.first {
      lines.append("there is no bundle in \(folder) yet: tilecut cut SOURCE -o \(folder.withoutSlashes)/NAME.mbtiles")
    }
    if let socket = settings.options.unixSocket {
      lines.append("listening on \(socket)")
    } else {
      lines.append("viewer: \(server.url)")
      if let first = tilesets.first {
        let place = server.url + PercentEncoding.segment(first.id)
        lines.append("tiles:  \(place)/{z}/{x}/{y}, described by \(place).json")
      }
    }
    for (place, reason) in registry.failures.sorted(by: { $0.key < $1.key }) {
      lines.append("not served: \(line(place, reason))")
    }
    return lines
  }

  /// The command that shows what there is where a path was not found.
  private static func next(after error: any Error) -> String? {
    guard let error = error as? ServeError else { return nil }
    switch error.code {
    case .invalidOption: return error.path.flatMap(listing)
    case .unavailable: return "tilecut cut SOURCE -o NAME.mbtiles makes a bundle of a raster"
    default: return nil
    }
  }

  /// The exit code for an error of ours; nil for the argument parser's. docs/reference/exit-codes.md has the table.
  private static func status(of error: any Error) -> ExitStatus? {
    switch error {
    case let error as ConfigurationError: error.isInFile ? .configurationFile : .usage
    case let error as ServeError:
      switch error.code {
      case .cannotListen: .unavailable
      case .unavailable: .badInput
      case .invalidOption: .unreadableInput
      default: .internalError
      }
    case let error as ReplayError: error.code == .missingInput ? .unreadableInput : .badInput
    default: nil
    }
  }
}
