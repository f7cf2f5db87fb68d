public import Logging
import MemoryPressure
import NIOCore
import NIOPosix
import NIOSSL
import Support
import Synchronization
import TilePrefetch

/// An HTTP server for the tilesets of a registry.
///
/// ```swift
/// let server = try await TileServer.start(TilesetRegistry(["/maps"]))
/// print(server.url)
/// try await server.shutdown()
/// ```
public final class TileServer: Sendable {
  /// The version of this server, for `tileserve --version` and the User-Agent of requests to upstreams.
  public static let version = "0.1.0"

  /// The URL of the server from this machine: `http://127.0.0.1:8080/`.
  public let url: String
  /// The port it listens on; nil for a Unix socket.
  public let port: Int?

  private let group: MultiThreadedEventLoopGroup
  private let listener: any Channel
  private let socketFile: SocketFile?
  private let loops: [NIOLoopBound<LoopState>]
  private let service: TileService
  private let accessLog: AccessLog?
  private let maintenance: MaintenanceTasks
  private let pressure: MemoryPressureMonitor?
  private let isEnding = Atomic(false)

  private init(
    url: String, port: Int?, group: MultiThreadedEventLoopGroup, listener: any Channel, socketFile: SocketFile?,
    loops: [NIOLoopBound<LoopState>], service: TileService, accessLog: AccessLog?, maintenance: MaintenanceTasks,
    pressure: MemoryPressureMonitor?
  ) {
    self.url = url
    self.port = port
    self.group = group
    self.listener = listener
    self.socketFile = socketFile
    self.loops = loops
    self.service = service
    self.accessLog = accessLog
    self.maintenance = maintenance
    self.pressure = pressure
  }

  /// Starts to listen and to serve.
  ///
  /// - Throws: ``ServeError`` with `.cannotListen` (also where too few files may be open) or `.invalidOption`.
  public static func start(
    _ registry: TilesetRegistry, _ options: TileServerOptions = TileServerOptions(), accessLog: AccessLog? = nil,
    logger: Logger = Logger(label: "tileserve")
  ) async throws -> TileServer {
    let loopCount = max(options.loopCount ?? System.coreCount, 1)
    let descriptorCount = FileDescriptors.raiseLimit()
    // Each event loop has three descriptors and two for its pipe; the others are standard streams, the listener,
    // folders and a bundle or two.
    let descriptorCountMin = 32 + 5 * loopCount
    guard descriptorCount >= descriptorCountMin else {
      throw ServeError(
        .cannotListen,
        """
        only \(descriptorCount) files may be open at a time, and a server with \(loopCount) threads needs \
        \(descriptorCountMin); allow more (ulimit -n)
        """
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
      tls: tls, limits: options.limits, trustedProxies: TrustedProxies(options.trustedProxies), alarm: alarm)
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
      let (listener, socketFile) = try await setup.listen(group, options) { channel in
        guard let loop = loopStates[ObjectIdentifier(channel.eventLoop)], let service = ready.service.withLock({ $0 })
        else {
          throw ChannelError.ioOnClosedChannel
        }
        try setup.configure(channel, service, loop.value)
      }
      let scheme = tls == nil ? "http" : "https"
      let port = listener.localAddress?.port
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
      let maintenance = MaintenanceTasks(
        registry, service.prefetcher, options, Array(loops.values), accessLog, logger, group.next())
      return TileServer(
        url: ServiceAddress(origin: origin, basePath: service.addresses.basePath).url("/"), port: port, group: group,
        listener: listener, socketFile: socketFile, loops: Array(loops.values), service: service, accessLog: accessLog,
        maintenance: maintenance,
        pressure: pressure)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Returns when the server has ended.
  public func wait() async throws { try await listener.closeFuture.get() }

  /// Stops listening, waits for requests in progress within the limits, and ends.
  /// A second call returns at once.
  ///
  /// - Parameter seconds: the delay before it stops listening. Meanwhile `/ready` is 503, so that a load balancer
  ///   sends requests elsewhere before the port is closed.
  public func shutdown(afterSeconds seconds: Int = 0) async throws {
    guard !isEnding.exchange(true, ordering: .relaxed) else { return }
    service.isLeaving.store(true, ordering: .relaxed)
    if seconds > 0 { await pause(.seconds(Int64(seconds))) }
    maintenance.stop()
    pressure?.stop()
    // Before the listener is closed, so that every response is its connection's last; and again for connections that
    // were accepted meanwhile.
    for loop in loops { try? await loop.eventLoop.submit { loop.value.drain() }.get() }
    socketFile?.remove()
    try? await listener.close()
    for loop in loops { try? await loop.eventLoop.submit { loop.value.drain() }.get() }
    let end = NIODeadline.now() + .seconds(Int64(service.options.limits.drainSeconds))
    while NIODeadline.now() < end {
      var count = 0
      for loop in loops { count += (try? await loop.eventLoop.submit { loop.value.connectionCount }.get()) ?? 0 }
      if count == 0 { break }
      await pause(.milliseconds(20))
    }
    for loop in loops { try? await loop.eventLoop.submit { loop.value.dropAll() }.get() }
    accessLog?.flush()
    service.hasEnded.store(true, ordering: .sequentiallyConsistent)
    try await group.shutdownGracefully()
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
