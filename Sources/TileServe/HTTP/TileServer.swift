public import Logging
import MemoryPressure
import NIOCore
import NIOPosix
import NIOSSL
import ServerSupport
import Support
import Synchronization
import TilePrefetch

/// An HTTP server for the tilesets of a registry.
///
/// ```swift
/// let registry = try TilesetRegistry(["/maps"])
/// try await withTileServer(registry) { server in
///   print(try await server.url(for: "usa"))  // http://127.0.0.1:43210/usa/{z}/{x}/{y}.png
///   try await server.wait()
/// }
/// await registry.close()
/// ```
///
/// An object that lives as long as the app keeps the server of ``start(_:_:accessLog:logger:)``. Whoever lets go of one
/// without ``shutdown(afterSeconds:)`` ends it at once, without an answer to requests in progress.
///
/// For Linux. On Apple's platforms, which lack libraries that it needs, the examples `BundleOverlay.swift` and
/// `BundleURLProtocol.swift` give a bundle to a map view. Where a system takes the sockets of an app in the background,
/// call ``pause()`` before and ``resume()`` after.
public final class TileServer: Sendable {
  /// The version of this server, for `tileserve --version` and the User-Agent of requests to upstreams.
  public static let version = "0.1.0"

  /// The URL of the server from this machine: `http://127.0.0.1:8080/`.
  public let url: String
  /// The port it listens on; nil for a Unix socket.
  public let port: Int?

  private let group: MultiThreadedEventLoopGroup
  private let listening: Mutex<Listening?>
  private let listen: @Sendable (_ port: Int) async throws -> Listening
  private let end: EventLoopPromise<Void>
  private let address: ServiceAddress
  private let loops: [NIOLoopBound<LoopState>]
  private let service: TileService
  private let accessLog: AccessLog?
  private let maintenance: @Sendable () -> MaintenanceTasks
  private let pressure: MemoryPressureMonitor?
  private let isEnding = Atomic(false)
  /// The last of ``pause()``, ``resume()`` and ``shutdown(afterSeconds:)``, which run one after the other.
  private let turn = Mutex<Task<Void, any Error>?>(nil)

  /// The listener, and what runs while there is one.
  private struct Listening {
    let channel: any Channel
    let socketFile: SocketFile?
    var maintenance: MaintenanceTasks?
  }

  private init(
    address: ServiceAddress, port: Int?, group: MultiThreadedEventLoopGroup, listening: Listening,
    listen: @escaping @Sendable (_ port: Int) async throws -> Listening, loops: [NIOLoopBound<LoopState>],
    service: TileService, accessLog: AccessLog?, maintenance: @escaping @Sendable () -> MaintenanceTasks,
    pressure: MemoryPressureMonitor?
  ) {
    (url, self.address, self.port, self.group) = (address.url("/"), address, port, group)
    (self.listen, self.loops, self.service, self.accessLog) = (listen, loops, service, accessLog)
    (self.maintenance, self.pressure) = (maintenance, pressure)
    end = group.next().makePromise()
    self.listening = Mutex(nil)
    begin(listening)
  }

  /// Starts to listen and to serve, as long as the server is kept.
  ///
  /// - Throws: ``ServeError`` with `.cannotListen` (also where too few files may be open) or `.invalidOption`.
  public static func start(
    _ registry: TilesetRegistry, _ options: TileServerOptions = TileServerOptions(), accessLog: AccessLog? = nil,
    logger: Logger = Logger(label: "tileserve")
  ) async throws -> TileServer {
    try options.check()
    let loopCount = max(options.loopCount ?? System.coreCount, 1)
    let descriptorCount = options.raisesFileLimit ? FileDescriptors.raiseLimit() : FileDescriptors.limit
    // Each event loop has three descriptors and two for its pipe; the others are standard streams, the listener,
    // folders and a bundle or two.
    let descriptorCountMin = 32 + 5 * loopCount
    guard descriptorCount >= descriptorCountMin else {
      throw ServeError(
        .cannotListen,
        """
        only \(descriptorCount) files may be open at a time, and a server with \(loopCount) threads needs \
        \(descriptorCountMin)
        """, remedy: "allow the process more"
      )
    }
    let options = options.limited(toDescriptors: descriptorCount)
    let tls = try options.tls.map(TLSFiles.context)
    let alarm = DescriptorAlarm(logger)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: loopCount)
    // Rendered tiles cost far more than stored ones, but most requests are for stored ones.
    let readyBytes = options.fastPath ? options.cacheBytes / 2 : 0
    let drawnBytes = options.cacheBytes - readyBytes
    let fastPath = options.fastPath ? FastPath(byteCountMax: readyBytes) : nil
    let metrics = Metrics(
      shardCount: loopCount, cache: DrawnTileCache(byteCountMax: drawnBytes),
      readyBytes: { fastPath?.byteCount ?? 0 })
    let setup = ServerSetup(
      tls: tls, limits: options.limits, trustedProxies: TrustedProxies(options.trustedProxies, hasThisMachine: true),
      alarm: alarm)
    do {
      let eventLoops = Array(group.makeIterator())
      var loops: [ObjectIdentifier: NIOLoopBound<LoopState>] = [:]
      for (index, eventLoop) in eventLoops.enumerated() {
        loops[ObjectIdentifier(eventLoop)] = try await eventLoop.submit {
          NIOLoopBound(
            LoopState(
              limits: options.limits, shard: metrics.shards[index], accessLog: accessLog,
              fastPath: fastPath.map(FastPath.Loop.init)), eventLoop: eventLoop)
        }.get()
      }
      let loopStates = loops
      let ready = Ready()
      let listen: @Sendable (Int) async throws -> Listening = { port in
        var options = options
        options.port = port
        let (channel, socketFile) = try await setup.listen(group, options) { channel in
          guard let loop = loopStates[ObjectIdentifier(channel.eventLoop)],
            let service = ready.service.withLock({ $0 })
          else { throw ChannelError.ioOnClosedChannel }
          try setup.configure(channel, service, loop.value)
        }
        return Listening(channel: channel, socketFile: socketFile)
      }
      let listening = try await listen(options.port)
      let scheme = tls == nil ? "http" : "https"
      let port = listening.channel.localAddress?.port
      let origin =
        options.unixSocket == nil
        ? "\(scheme)://\(Self.urlHost(options.listeningHost)):\(port ?? 0)" : "\(scheme)://localhost"
      let service = TileService(
        registry, options, boundOrigin: origin, metrics: metrics, alarm: alarm, logger: logger)
      ready.service.withLock { $0 = service }
      let response = PressureResponse(service, fastPath, readyBytes: readyBytes)
      let pressure = options.memoryPressure.map { readings in
        MemoryPressureMonitor(readings, marks: options.pressureMarks) { level in
          metrics.pressure.store(level.rawValue, ordering: .relaxed)
          logger.notice("memory pressure: \(level)")
          response.react(to: level)
        }
      }
      pressure?.start()
      let states = Array(loops.values)
      return TileServer(
        address: ServiceAddress(origin: origin, basePath: service.addresses.basePath), port: port, group: group,
        listening: listening, listen: listen, loops: states, service: service, accessLog: accessLog,
        maintenance: {
          MaintenanceTasks(registry, service.prefetcher, options, states, accessLog, logger, group.next())
        }, pressure: pressure)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  deinit {
    guard !isEnding.load(ordering: .relaxed) else { return }
    pressure?.stop()
    service.hasEnded.store(true, ordering: .sequentiallyConsistent)
    end.succeed()
    guard let open = listening.withLock({ $0 }) else { return group.shutdownGracefully { _ in } }
    open.maintenance?.stop()
    open.socketFile?.remove()
    // The listener first: it must not give a connection to a loop that has ended.
    open.channel.close().whenComplete { [group] _ in group.shutdownGracefully { _ in } }
  }

  /// The URL of a tileset's tiles, with `{z}`, `{x}` and `{y}`, as map views take it.
  ///
  /// - Throws: ``ServeError`` with `.unknownTileset` or `.unavailable`; `BundleError`.
  public func url(for tileset: String) async throws -> String {
    address.url(try await service.registry.info(of: tileset).tileTemplate)
  }

  /// The URL of a tileset's TileJSON document, which has that of its tiles, zooms and credits.
  public func tileJSON(for tileset: String) -> String { address.url(ServicePaths.tileJSON(tileset)) }

  /// Returns when the server has ended; a pause is no end.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func wait() async throws {
    // On the same loop, which may be gone a moment after the end.
    let own = end.futureResult.eventLoop.makePromise(of: Void.self)
    end.futureResult.cascade(to: own)
    try await withTaskCancellationHandler {
      try await own.futureResult.get()
    } onCancel: {
      own.fail(CancellationError())
    }
  }

  private func begin(_ new: Listening) {
    var new = new
    new.maintenance = maintenance()
    new.channel.closeFuture.whenComplete { [weak self, id = ObjectIdentifier(new.channel)] _ in
      // A listener that nobody has closed: the server cannot go on.
      guard let self, listening.withLock({ $0.map { ObjectIdentifier($0.channel) } }) == id else { return }
      end.succeed()
    }
    listening.withLock { $0 = new }
    _ = new.channel.setOption(.autoRead, value: true)
  }

  /// Stops listening and closes all connections, when requests in progress are done or after the limit for that. Caches
  /// stay. A second call does nothing.
  public func pause() async {
    try? await inTurn { [self] in
      guard !isEnding.load(ordering: .relaxed) else { return }
      await stopListening()
    }
  }

  /// Listens again, on the same port, so that URLs stay valid. Does nothing unless paused.
  ///
  /// - Throws: ``ServeError`` with `.cannotListen` if another program has the port by now; it stays paused.
  public func resume() async throws {
    try await inTurn { [self] in
      guard !isEnding.load(ordering: .relaxed), listening.withLock({ $0 == nil }) else { return }
      for loop in loops { try await loop.eventLoop.submit { loop.value.stopDraining() }.get() }
      begin(try await listen(port ?? 0))
    }
  }

  /// Stops listening, waits for requests in progress within the limits, and ends. From the call on each response is its
  /// connection's last, and what a thread has been doing for a request for more than 1.5 seconds is cancelled: that is
  /// answered with 503, as are requests that have no answer when the time is over. A second call returns at once.
  ///
  /// - Parameter seconds: the delay before it stops listening. Meanwhile `/ready` is 503, so that a load balancer
  ///   sends requests elsewhere before the port is closed.
  public func shutdown(afterSeconds seconds: Int = 0) async throws {
    guard !isEnding.exchange(true, ordering: .relaxed) else { return }
    service.isLeaving.store(true, ordering: .relaxed)
    for loop in loops { try? await loop.eventLoop.submit { loop.value.leave() }.get() }
    let work = service.registry.work
    let hurry = group.next().scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(100)) { _ in
      work.cancelRequests(runningFor: Self.runningSecondsMax)
    }
    if seconds > 0 { await pause(.seconds(Int64(seconds))) }
    try await inTurn { [self] in
      pressure?.stop()
      await stopListening()
      hurry.cancel()
      accessLog?.flush()
      service.hasEnded.store(true, ordering: .sequentiallyConsistent)
      end.succeed()
      try await group.shutdownGracefully()
    }
  }

  /// How long a thread may work for one request when the server stops. With the 2 seconds that `tileserve` waits before
  /// it closes the port, and one for the last answers, an endless query delays the end by less than 5 seconds.
  private static let runningSecondsMax = 1.5

  private func inTurn(_ work: @escaping @Sendable () async throws -> Void) async throws {
    let task = turn.withLock { last in
      let task = Task { [before = last] in
        _ = await before?.result
        try await work()
      }
      last = task
      return task
    }
    try await task.value
  }

  private func stopListening() async {
    guard let old = listening.withLock({ $0 }) else { return }
    listening.withLock { $0 = nil }
    old.maintenance?.stop()
    // Before the listener is closed, so that every response is its connection's last; and again for connections that
    // were accepted meanwhile.
    for loop in loops { try? await loop.eventLoop.submit { loop.value.drain() }.get() }
    old.socketFile?.remove()
    try? await old.channel.close()
    for loop in loops { try? await loop.eventLoop.submit { loop.value.drain() }.get() }
    if await connectionsEnd(within: .seconds(Int64(service.options.limits.drainSeconds))) { return }
    // Requests that wait for a thread, or work for longer, get an answer too.
    for loop in loops { try? await loop.eventLoop.submit { loop.value.refuseAll() }.get() }
    _ = await connectionsEnd(within: Self.lastAnswersTime)
    for loop in loops { try? await loop.eventLoop.submit { loop.value.dropAll() }.get() }
  }

  /// How long clients may take for the answers that end the time of a shutdown.
  private static let lastAnswersTime = TimeAmount.seconds(1)

  /// Waits until there are no connections; false if there are some when the time is over.
  private func connectionsEnd(within time: TimeAmount) async -> Bool {
    let end = NIODeadline.now() + time
    while true {
      var count = 0
      for loop in loops { count += (try? await loop.eventLoop.submit { loop.value.connectionCount }.get()) ?? 0 }
      if count == 0 { return true }
      guard NIODeadline.now() < end else { return false }
      await pause(.milliseconds(20))
    }
  }

  /// Waits. `Task.sleep` opens file descriptors at its first call, and ends the process if there are none left.
  private func pause(_ time: TimeAmount) async {
    try? await group.next().scheduleTask(in: time) {}.futureResult.get()
  }

  /// The service, which is created when the port is known.
  private final class Ready: Sendable {
    let service = Mutex<TileService?>(nil)
  }

  /// Wildcard addresses cannot be connected to.
  private static func urlHost(_ host: String) -> String {
    switch host {
    case "0.0.0.0", "": "127.0.0.1"
    case "::": "[::1]"
    default: host.contains(":") ? "[\(host)]" : host
    }
  }
}

/// Serves the tilesets of a registry while a closure runs.
///
/// The server has ended when this returns or throws; requests in progress are answered within its limits before.
///
/// - Returns: what the closure returns.
/// - Throws: as ``TileServer/start(_:_:accessLog:logger:)``; what the closure throws.
public func withTileServer<Result>(
  _ registry: TilesetRegistry, _ options: TileServerOptions = TileServerOptions(), accessLog: AccessLog? = nil,
  logger: Logger = Logger(label: "tileserve"), isolation: isolated (any Actor)? = #isolation,
  _ serving: (TileServer) async throws -> Result
) async throws -> Result {
  let server = try await TileServer.start(registry, options, accessLog: accessLog, logger: logger)
  do {
    let result = try await serving(server)
    try await server.shutdown()
    return result
  } catch {
    try? await server.shutdown()
    throw error
  }
}
