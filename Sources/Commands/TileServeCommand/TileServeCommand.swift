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

      Exit codes: 0 ended by a signal after all requests were answered; 64 wrong usage; 66 a path is not there; \
      69 the address cannot be listened on; 70 internal error; 78 the configuration file is wrong.
      """,
    version: "0.1.0")

  @OptionGroup var flags: ServeFlags

  /// Not an asynchronous main, whose thread ends up in Dispatch's `sigsuspend` with all signals let through: they would kill instead of drain.
  static func main() {
    StandardStreams.reserve()
    MemoryAllocator.holdDown()
    // Before there are threads: they must not take the signals.
    let signals = SignalWatch()
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      await run(signals)
      end.signal()
    }
    end.wait()
  }

  private static func run(_ signals: SignalWatch) async {
    let arguments = CommandLine.arguments.dropFirst()
    // Not a subcommand of the parser's: `tileserve PATH` is older, and its help stays what it is. A bundle called replay is ./replay.
    if arguments.first == "replay" { return replay(Array(arguments.dropFirst())) }
    do {
      let command = try parse()
      try await command.serve(signals)
    } catch let error where ExitStatus(of: error) != nil {
      printError("tileserve: \(error)")
      Foundation.exit(ExitStatus(of: error)!.rawValue)
    } catch {
      exit(withError: error)
    }
  }

  private static func replay(_ arguments: [String]) {
    do {
      let command = try ReplayCommand.parse(arguments)
      try command.run()
      guard StandardStreams.flush() else { throw SettingsError(.cannotWrite, "standard output cannot be written") }
    } catch let error where ExitStatus(of: error) != nil {
      printError("tileserve: \(error)")
      Foundation.exit(ExitStatus(of: error)!.rawValue)
    } catch {
      ReplayCommand.exit(withError: error)
    }
  }

  func serve(_ signals: SignalWatch) async throws {
    let settings = try await ServeSettings(flags)
    LoggingSystem.bootstrap { _ in ErrorLog(level: settings.logLevel) }
    let shelf = try TileShelf(settings.paths)
    let server = try await TileServer.start(shelf, settings.options, accessLog: settings.accessLog)
    let end = AsyncStream<Void>.makeStream()
    signals.whenStopped { end.continuation.yield() }
    print(Greeting.text(shelf, server, settings))
    _ = StandardStreams.flush()
    for await _ in end.stream { break }
    try await server.shutdown()
    await shelf.close()
    // Only now: a second signal while requests are finished is to kill.
    signals.stop()
  }
}
