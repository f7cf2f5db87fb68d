import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
public import PurchaseLedger
import ServiceLifecycle
import Support
import Synchronization
import TileIndex

/// The running service: Hummingbird's application, and the watch over catalogue and ledger.
public final class MapStoreServer: Sendable {
  /// The base URL: `http://127.0.0.1:8090`.
  public let url: String
  public let port: Int
  /// The numbers of regions in the catalogue and for sale, at the start.
  package let regionCount: Int
  package let forSaleCount: Int
  /// Files that did not match the catalogue at the start: names and sizes. Hashes of large catalogues follow in the
  /// background.
  package let catalogFaults: [String]

  let service: StoreService
  private let group: ServiceGroup
  private let running: Task<Void, any Error>
  private let watching: Task<Void, Never>
  private let connections: OpenConnections

  private init(
    url: String, port: Int, service: StoreService, group: ServiceGroup, running: Task<Void, any Error>,
    watching: Task<Void, Never>, connections: OpenConnections
  ) {
    (self.url, self.port, self.service) = (url, port, service)
    (self.group, self.running, self.watching, self.connections) = (group, running, watching, connections)
    catalogFaults = service.catalog.faultTexts()
    let snapshot = service.catalog.snapshot
    regionCount = snapshot.regions.count
    forSaleCount = snapshot.isForSale.count { $0 }
  }

  /// Reads the catalogue and keys, and listens.
  ///
  /// - Parameter identity: the apps whose evidence is accepted.
  /// - Throws: ``StoreError``, `BundleError`, `LedgerError`, `VerificationError`, each of which names the file or
  ///   the key.
  public static func start(
    _ options: StoreOptions, ledger: Ledger, identity: StoreIdentity, clock: LedgerClock, logger: Logger
  ) async throws -> MapStoreServer {
    let options = try options.checked().fittingDescriptors(logger)
    let service = try StoreService(
      options, ledger: ledger, verifier: try EvidenceVerifier(identity: identity),
      sellsAtGoogle: identity.packageName != nil, clock: clock, logger: logger)
    let (ports, reportPort) = AsyncStream<Int>.makeStream()
    let limits = options.limits
    let connections = OpenConnections()
    // At that level Hummingbird announces the address, and so do we.
    var frameworkLogger = logger
    if logger.logLevel == .info { frameworkLogger.logLevel = .notice }
    let application = Application(
      router: StoreRouter.make(service),
      server: HTTPServerBuilder { responder in
        LoopBoundChannel(
          base: HTTP1Channel(
            responder: responder,
            configuration: .init(
              additionalChannelHandlers: [
                ConnectionGuard(
                  limits, proxies: service.proxies, budget: service.capacity.connections,
                  connections: connections)
              ],
              idleTimeout: .seconds(Int64(limits.idleSeconds)),
              httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))))
      },
      configuration: ApplicationConfiguration(
        address: .hostname(options.host, port: options.port), backlog: 1024),
      onServerRunning: { channel in
        reportPort.yield(channel.localAddress?.port ?? options.port)
        reportPort.finish()
      },
      logger: frameworkLogger)
    let group = ServiceGroup(configuration: .init(services: [application], logger: frameworkLogger))
    let running = Task {
      defer { reportPort.finish() }
      try await group.run()
    }
    guard let port = await ports.first(where: { _ in true }) else {
      do { try await running.value } catch {
        throw StoreError(
          .cannotListen, at: "\(options.host):\(options.port)", "cannot be listened on: \(Self.reason(error))",
          remedy: "choose another port or host, or end what listens there")
      }
      throw StoreError(
        .cannotListen, at: "\(options.host):\(options.port)", "ended at once", remedy: "start it again")
    }
    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
    let watching = Task { await service.watch() }
    return MapStoreServer(
      url: "http://\(host):\(port)", port: port, service: service, group: group, running: running,
      watching: watching, connections: connections)
  }

  /// Whoever lets go of a server without ``shutdown()`` ends it at once.
  deinit {
    watching.cancel()
    running.cancel()
    service.catalog.files.stop()
  }

  private static func reason(_ error: any Error) -> String {
    (error as? IOError).map { "\(FileSystem.SystemError(number: $0.errnoCode))" } ?? "\(error)"
  }

  /// Accepts no new connections, answers the requests under way, and ends. Connections that are not done after
  /// ``StoreOptions/drainSeconds`` are closed.
  public func shutdown() async throws {
    watching.cancel()
    service.catalog.files.stop()
    service.isEnding.withLock { $0 = true }
    await group.triggerGracefulShutdown()
    let (seconds, connections, logger) = (service.options.drainSeconds, connections, service.logger)
    let cutting = Task {
      try await Task.sleep(for: .seconds(seconds))
      let count = connections.closeAll()
      if count > 0 { logger.warning("\(count) connections were cut off: they were not done within \(seconds) s") }
    }
    defer { cutting.cancel() }
    try await running.value
  }
}

extension StoreOptions {
  /// - Throws: ``StoreError`` for proxies that are no addresses, and for a URL that no client could use.
  fileprivate func checked() throws -> Self {
    for (name, addresses) in [("trustedProxies", trustedProxies), ("metricsFrom", metricsFrom)] {
      guard let wrong = addresses.sorted().first(where: { !ClientAddress.isAddress($0) }) else { continue }
      throw StoreError(
        .invalidOption, at: name, "\"\(wrong)\" is no address",
        remedy: "give addresses of IPv4 or IPv6, with commas between them")
    }
    if let publicURL {
      do { _ = try HTTPAddress(publicURL) } catch {
        throw StoreError(
          .invalidOption, at: "publicURL", "\"\(publicURL)\" \(error)",
          remedy: "give the URL by which clients reach the service, such as https://maps.example.org")
      }
    }
    return self
  }

  /// With no more connections than the process may have open, each with a file that it is sent.
  fileprivate func fittingDescriptors(_ logger: Logger) -> Self {
    var options = self
    let room = max(16, (FileDescriptors.raiseLimit() - Self.ownDescriptors) / 2)
    if room < limits.connections {
      logger.warning(
        "connections: \(room) instead of \(limits.connections); raise the limit of open files of the process")
      options.limits.connections = room
    }
    return options
  }

  /// Of the ledger, the catalogue and the listener, at most.
  private static let ownDescriptors = 128
}

/// Runs the tasks of a connection on the connection's event loop: on Swift's own threads, each request would hop
/// between threads several times, which costs more than answering it.
///
/// Handlers that compute for long do it in the client's turn (``StoreRequest/compute(_:)``), or the loop's other
/// connections wait.
struct LoopBoundChannel<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger)
  }

  func handle(value: Base.Value, logger: Logger) async {
    await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
      await base.handle(value: value, logger: logger)
    }
  }
}

/// Runs tasks on an event loop.
private final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
