import ArgumentParser
import CommandSupport
import LibC
import Logging
import MapStoreServer
import PurchaseLedger
import Support

/// `mapstore serve`: the map store's service.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a map store: catalogue, accounts, purchases and downloads.",
    discussion: """
      Every option can also be given in the configuration file (--config, JSON: publicUrl for --public-url) or in the \
      environment: MAPSTORE_PUBLIC_URL. Flags win over the environment, the environment over the file. These alone have \
      the app's other facts (appAppleId, googlePublicKey, packageName), keys, pushes, products, proxies, limits and \
      logLevel (docs/reference/configuration.md). docs/reference/store.md describes the interface.
      """)

  @OptionGroup var flags: MapStoreFlags

  func run() async throws {
    let settings = try MapStoreSettings(flags)
    var logger = Logger(label: "mapstore", factory: { EscapingLog(handler: StreamLogHandler.standardError(label: $0)) })
    logger.logLevel = settings.logLevel
    let ledger = try Ledger.open(at: settings.ledger, policy: nil, clock: .system)
    var options = settings.options
    options.confirmation = try settings.confirmation(for: ledger)
    let server = try await MapStoreServer.start(
      options, ledger: ledger, identity: settings.identity.bounded(by: try ledger.policy), clock: .system,
      logger: logger)
    let end = AsyncStream<Void>.makeStream()
    SignalWatch.process.whenStopped { end.continuation.yield() }
    printLine("selling \(server.forSaleCount) of \(server.regionCount) regions from \(settings.options.catalogFolder)")
    for fault in server.catalogFaults { printLine("differs from the catalogue: \(fault)") }
    printLine("catalogue: \(server.url)/catalogue")
    if let confirmation = options.confirmation {
      print("purchases are asked about: \(confirmation.stores.map(\.rawValue).joined(separator: ", "))")
    }
    if settings.options.linkKeys.isEmpty {
      print("download links expire with this process: there are no hmacKeyFiles in the configuration file")
    }
    if settings.options.grantKeys.isEmpty {
      print("grants expire with this process: there are no grantKeyFiles in the configuration file")
    }
    _ = StandardStreams.flush()
    ServiceManager.ready("selling \(server.forSaleCount) of \(server.regionCount) regions")
    for await _ in end.stream { break }
    ServiceManager.stopping()
    let seconds = settings.options.drainSeconds
    Task.detached { [logger] in
      // Work may wait a long time for the ledger's lock or a slow disk. A request without a response was not
      // acknowledged, so it may be aborted.
      try await Task.sleep(for: .seconds(seconds) + .milliseconds(500))
      logger.warning("requests were aborted: they did not end within \(seconds) s")
      _ = StandardStreams.flush()
      _exit(0)
    }
    try await server.shutdown()
    await options.confirmation?.shutdown()
    ledger.close()
    // Not earlier: a second signal during the drain must end the process.
    SignalWatch.process.stop()
  }
}

/// A log of one line a message: names of files may have line breaks and other control characters.
private struct EscapingLog: LogHandler {
  var handler: StreamLogHandler

  var logLevel: Logger.Level {
    get { handler.logLevel }
    set { handler.logLevel = newValue }
  }
  var metadata: Logger.Metadata {
    get { handler.metadata }
    set { handler.metadata = newValue }
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    var event = event
    event.message = "\(event.message.description.escapedForTerminal(isMessage: true))"
    handler.log(event: event)
  }
}
