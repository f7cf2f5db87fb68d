import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerSupport
import Support
import TileIndex

/// Creates the listener and the pipeline of each connection.
struct ServerSetup: Sendable {
  let tls: NIOSSLContext?
  let limits: ConnectionLimits
  let trustedProxies: TrustedProxies
  let alarm: DescriptorAlarm

  /// Listens on the address of the options. Accepts nothing before `autoRead` of the channel is set.
  ///
  /// - Returns: the channel, and the file of a Unix socket, which its owner removes before the socket is closed.
  /// - Throws: ``ServeError`` with `.cannotListen`.
  func listen(
    _ group: MultiThreadedEventLoopGroup, _ options: TileServerOptions,
    _ accept: @escaping @Sendable (any Channel) throws -> Void
  ) async throws -> (any Channel, SocketFile?) {
    let isFastAndLocal = options.fastPath && options.isReachedFromHereAlone
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if isFastAndLocal { FastPath.setUp(localListener: pipeline) }
          // Without file descriptors accepting fails repeatedly, so it pauses.
          let backoff = AcceptBackoffHandler { [alarm] error in
            let error = FileSystem.SystemError(number: error.errnoCode)
            if error.isOutOfDescriptors { alarm.ring("a connection cannot be accepted: \(error)") }
            return .seconds(1)
          }
          try pipeline.addHandler(backoff)
        }
      }
      .serverChannelOption(.backlog, value: 4096)
      // The system keeps connections until the server begins: one that was accepted before would be reset.
      .serverChannelOption(.autoRead, value: false)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      // Several connections for each accept call, but not so many that existing ones wait.
      .serverChannelOption(.maxMessagesPerRead, value: 16)
      .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try accept(channel) } }
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 << 10, high: 128 << 10))
      .childChannelOption(.allowRemoteHalfClosure, value: false)
    do {
      if let path = options.unixSocket {
        // Between finding an abandoned socket and replacing it no other server may do the same. Without the lock, for
        // example on a file system that has none, the server starts nevertheless.
        let turn = try? await FolderLock(folder: SocketFile.folder(of: path))
        try await Self.removeAbandoned(path, group)
        // Under a temporary name at first: when it ends NIO removes the file at the path that it was bound to, even if
        // that belongs to another process by then.
        let own = SocketFile.ownName(besides: path)
        let channel = try await bootstrap.bind(unixDomainSocketPath: own, cleanupExistingSocketFile: true).get()
        guard let file = SocketFile(own)?.moved(to: path) else {
          try? await channel.close()
          throw ServeError(
            .cannotListen, "cannot listen on \(path): its folder cannot be written", remedy: "check its permissions")
        }
        return withExtendedLifetime(turn) { (channel, file) }
      }
      let channel = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .bind(host: options.listeningHost, port: options.port).get()
      return (channel, nil)
    } catch let error as ServeError {
      throw error
    } catch {
      let place = options.unixSocket ?? "\(options.host):\(options.port)"
      let (reason, remedy) = Self.reason(error, socket: options.unixSocket)
      throw ServeError(.cannotListen, "cannot listen on \(place): \(reason)", remedy: remedy)
    }
  }

  /// Removes the socket of a server that was killed. A running server accepts the connection, and its socket is kept.
  private static func removeAbandoned(_ path: String, _ group: MultiThreadedEventLoopGroup) async throws {
    guard let file = SocketFile(path) else {
      if FileSystem.kind(path) == nil { return }
      throw ServeError(
        .cannotListen, "cannot listen on \(path): a file that is no socket lies there", remedy: "choose another")
    }
    var (reason, remedy) = ("another server listens there", "end it, or choose another file")
    do {
      let channel = try await ClientBootstrap(group: group).connectTimeout(.seconds(2))
        .connect(unixDomainSocketPath: path).get()
      try? await channel.close()
    } catch let error as IOError where SocketFile.isAbandoned(errno: error.errnoCode) {
      return file.remove()
    } catch let error as IOError where SocketFile.isMissing(errno: error.errnoCode) {
      return
    } catch {
      // Too busy to answer, or another program's socket: it is not removed.
      reason = "it is the socket of another program (\(Self.reason(error, socket: path).what))"
      remedy = "choose another file"
    }
    throw ServeError(.cannotListen, "cannot listen on \(path): \(reason)", remedy: remedy)
  }

  /// Sets up the pipeline of a new connection, if there is room for it.
  func configure(_ channel: any Channel, _ service: TileService, _ loop: LoopState) throws {
    // The limit is divided among the event loops.
    let share = max(limits.connectionCountMax / service.metrics.shards.count, 1)
    if loop.connectionCount >= share, !loop.makeRoom() {
      loop.shard.dropped()
      throw ChannelError.ioOnClosedChannel
    }
    let pipeline = channel.pipeline.syncOperations
    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
    let peer = channel.remoteAddress?.ipAddress
    let isTrusted = trustedProxies.contains(peer.map { ClientAddress($0) })
    let connection = ConnectionHandler(service, loop, peer: peer ?? "-", isTrusted: isTrusted)
    try pipeline.addHandler(RequestReader(connection, limits))
    try pipeline.addHandler(connection)
  }

  /// - Parameter socket: the path of the Unix socket; nil for an address.
  private static func reason(_ error: any Error, socket: String?) -> (what: String, remedy: String?) {
    if error is SocketAddressError.UnknownHost {
      return (
        "no address of this name is known", "choose one of this machine's, such as 127.0.0.1, or 0.0.0.0 for all"
      )
    }
    if case .unixDomainSocketPathTooLong? = error as? SocketAddressError {
      return ("the path is too long for a socket", "choose a shorter one")
    }
    guard let error = error as? IOError else { return ("\(error)", nil) }
    let system = FileSystem.SystemError(number: error.errnoCode)
    if system.isOutOfDescriptors { return ("\(system)", system.openingRemedy) }
    switch error.errnoCode {
    case 98, 48:
      return ("the address is in use", "choose another port, 0 for a free one, or end the program that has it")
    case 2, 20: return ("there is no such folder", "create it, or choose another")
    case 13 where socket != nil: return ("its folder cannot be written", "check its permissions, or choose another")
    case 13: return ("not permitted", "ports below 1024 need rights of their own, so choose a higher one")
    case 99, 49: return ("this machine has no such address", "choose one that it has, or 0.0.0.0 for all")
    default: return ("\(error)", nil)
    }
  }
}
