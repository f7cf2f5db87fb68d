import ArgumentParser
import CommandSupport
import Foundation
import Logging
import TileServe

/// `tileserve`: serves bundles over HTTP.
@main
struct TileServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tileserve",
    abstract: "Serves tile bundles (MBTiles, PMTiles, folders of tiles) over HTTP, offline.",
    discussion: """
      Every option can also be given in the configuration file, under its name without the dashes, or in the environment: TILESERVE_PORT for --port. \
      Flags win over the environment, the environment over the file.

      tileserve replay --help: replays sessions of people looking at maps, to choose a cache's budget.

      Exit codes: 0 ended by a signal after all requests were answered; 64 wrong usage; 66 a path is not there, or certificate and key cannot be used; \
      69 the address cannot be listened on; 70 internal error; 78 the configuration file is wrong.
      """,
    version: TileServer.version)

  @OptionGroup var flags: ServeFlags

  static func main() {
    StandardStreams.reserve()
    MemoryAllocator.holdDown()
    // Before there are threads: they must not take the signals.
    let signals = SignalWatch()
    let arguments = CommandLine.arguments.dropFirst()
    // Not a subcommand of the parser's: `tileserve PATH` is older, and its help stays what it is. A bundle called replay is ./replay.
    guard arguments.first == "replay" else {
      CommandProcess(Self.self, status: status, outputFailed: nil)
        .runAsynchronously { try await parse().serve(signals) }
    }
    CommandProcess(
      ReplayCommand.self, name: "tileserve", status: status, outputFailed: ExitStatus.cannotWrite.rawValue
    ).run { try ReplayCommand.parse(Array(arguments.dropFirst())).run() }
  }

  private static func status(of error: any Error) -> Int32? { ExitStatus(of: error)?.rawValue }

  func serve(_ signals: SignalWatch) async throws {
    let settings = try await ServeSettings(flags)
    LoggingSystem.bootstrap { _ in ErrorLog(level: settings.logLevel) }
    let shelf = try TileShelf(settings.paths)
    try settings.file?.check(shelf)
    let server = try await TileServer.start(shelf, settings.options, accessLog: settings.accessLog)
    let end = AsyncStream<Void>.makeStream()
    signals.whenStopped { end.continuation.yield() }
    await shelf.findBroken()
    Greeting.lines(shelf, server, settings).forEach(printLine)
    _ = StandardStreams.flush()
    for await _ in end.stream { break }
    // Whoever presses Ctrl-C need not wait for a load balancer.
    try await server.shutdown(afterSeconds: signals.received == SIGTERM ? settings.drainDelaySeconds : 0)
    await shelf.close()
    // Only now: a second signal while requests are finished is to kill.
    signals.stop()
  }
}
