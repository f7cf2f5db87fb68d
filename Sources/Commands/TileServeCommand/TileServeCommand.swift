import ArgumentParser
import CSystemShim
import CommandConfiguration
import CommandSupport
import LibC
import Logging
import PrefetchReplay
import Support
import TileIndex
import TileServe

/// `tileserve`: serves bundles over HTTP.
@main
struct TileServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tileserve",
    abstract: "Serves tile bundles (MBTiles, PMTiles, GeoPackage, folders of tiles) over HTTP, offline.",
    discussion: """
      Every option can also be given in the configuration file (--config, JSON: publicUrl for --public-url) or in the \
      environment: TILESERVE_PUBLIC_URL. Flags win over the environment, the environment over the file. These alone \
      have accessLog, cacheControl, connections, drainDelay, drawingMemory, fastPath, logLevel, prefetch, tlsCert, \
      tlsKey, trustedProxies, web and settings of single tilesets (docs/reference/configuration.md).

      Examples:
        tileserve /maps
        tileserve usa.mbtiles parks/ --missing overzoom
        tileserve --config tileserve.json

      tileserve replay --help: replays recorded map sessions, to choose a cache's budget.

      Exit codes: 0 ended by a signal after all requests were answered; 64 wrong usage; 65 none of the files is a \
      bundle; 66 a path is not there or cannot be read, or certificate and key cannot be used; 69 the address cannot \
      be listened on; 70 internal error; 78 the configuration file is wrong.
      """,
    version: TileServer.version)

  @OptionGroup var flags: TileServeFlags

  static func main() {
    StandardStreams.reserve()
    limitAllocator()
    // Before other threads start, because they must not receive the signals.
    let signals = SignalWatch()
    let words = CommandLine.words
    let arguments: [String] = words.first == "help" ? words.dropFirst() + ["--help"] : words
    // Not subcommands of the argument parser, so that `tileserve PATH` and its help stay unchanged. A bundle named
    // replay or help can be given as ./replay.
    guard arguments.first == "replay" else {
      CommandProcess(
        Self.self, status: status, next: next, faults: { ($0 as? NoBundle)?.faults.map(\.description) },
        outputFailed: nil, configured: TileServeSettings.schema.members
      )
      .runAsynchronously { try await parse(arguments).serve(signals) }
    }
    CommandProcess(ReplayCommand.self, name: "tileserve", status: status, next: next, outputFailed: .outputFailed)
      .run { try ReplayCommand.parse(Array(arguments.dropFirst())).run() }
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
    let registry = try TilesetRegistry(settings.paths, checkingTiles: settings.checksTiles)
    try settings.check(registry)
    await registry.findBroken()
    if let faults = registry.permanentFaults {
      await registry.close()
      throw NoBundle(faults: faults)
    }
    // From the first connection on, a signal waits for requests.
    let end = AsyncStream<Void>.makeStream()
    signals.whenStopped { end.continuation.yield() }
    if let log = settings.accessLog, log.mayBeReopened { signals.whenHungUp { log.reopen() } }
    let server = try await TileServer.start(registry, settings.options, accessLog: settings.accessLog?.log)
    Self.greeting(registry, server, settings).forEach(printLine)
    _ = StandardStreams.flush()
    ServiceManager.ready("serving \(counted(registry.readableTilesets.count, "tileset"))")
    for await _ in end.stream { break }
    ServiceManager.stopping()
    // The delay is for load balancers; Ctrl-C needs none.
    try await server.shutdown(afterSeconds: signals.received == SIGTERM ? settings.drainDelaySeconds : 0)
    await Self.close(registry, secondsMax: 1)
    // Not earlier: a second signal during the drain must end the process.
    signals.stop()
  }

  /// Closes the registry, but does not wait longer for a thread that a disk or another server keeps: nobody reads what
  /// it makes.
  private static func close(_ registry: TilesetRegistry, secondsMax: Int) async {
    let (end, whenEnded) = AsyncStream<Void>.makeStream()
    Task {
      await registry.close()
      whenEnded.finish()
    }
    Task {
      try? await Task.sleep(for: .seconds(secondsMax))
      whenEnded.finish()
    }
    for await _ in end {}
  }

  /// Files none of which is a bundle.
  private struct NoBundle: Error, CustomStringConvertible {
    let faults: [BundleError]
    var description: String { faults.map(\.description).joined(separator: "\n") }
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
      lines.append("not served: " + (reason.hasPrefix("\(place):") ? reason : "\(place): \(reason)"))
    }
    return lines
  }

  /// The command that shows what there is where a path was not found, or that makes a bundle of a raster.
  private static func next(after error: any Error) -> String? {
    if let fault = (error as? NoBundle)?.faults.last, fault.repair == .cut, let path = fault.path {
      return "tilecut cut \(path.shellQuoted) -o NAME.mbtiles"
    }
    if let error = error as? ReplayError { return error.code == .missingInput ? error.path.flatMap(listing) : nil }
    guard let error = error as? ServeError, error.code == .invalidOption else { return nil }
    return error.path.flatMap(listing)
  }

  /// The exit code for an error of ours; nil for the argument parser's. docs/reference/exit-codes.md has the table.
  private static func status(of error: any Error) -> ExitStatus? {
    switch error {
    case let error as ConfigurationError: error.isInFile ? .configurationFile : .usage
    case let error as ServeError:
      switch error.code {
      case .cannotListen: .unavailable
      case .invalidOption: .unreadableInput
      default: .internalError
      }
    case let error as NoBundle:
      error.faults.allSatisfy { $0.code == .notFound } ? .unreadableInput : .badInput
    case let error as ReplayError: error.code == .missingInput ? .unreadableInput : .badInput
    default: nil
    }
  }
}
