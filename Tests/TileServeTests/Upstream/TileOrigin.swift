import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport

/// A web server that responds as a test configures it.
final class TileOrigin: Sendable {
  struct Request: Sendable {
    var target: String
    var fields: HTTPHeaders

    subscript(name: String) -> String? { fields.first(name: name) }
  }

  enum Reply: Sendable {
    case answer(Int, [UInt8] = [], [String: String] = [:])
    /// Reads the request and never responds.
    case hang
    /// Announces more than it sends, and closes.
    case cut([UInt8])
    /// Sends without end.
    case endless
    /// Closes without a response.
    case close
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let listener: Mutex<(any Channel)?> = Mutex(nil)
  private let clients = Mutex<[ObjectIdentifier: any Channel]>([:])
  private let log = Mutex<[Request]>([])
  private let answer: Mutex<@Sendable (Request) -> Reply>
  /// While this is set, responses wait for it.
  let gate = Locked<Gate?>(nil)

  var requests: [Request] { log.withLock { $0 } }
  var targets: [String] { requests.map(\.target) }
  private let isAway = Mutex(false)
  private let knownPort = Mutex(0)
  var port: Int { knownPort.withLock { $0 } }
  var url: String { "http://127.0.0.1:\(port)" }

  init(_ answer: @escaping @Sendable (Request) -> Reply) { self.answer = Mutex(answer) }

  func say(_ answer: @escaping @Sendable (Request) -> Reply) { self.answer.withLock { $0 = answer } }
  func forgetRequests() { log.withLock { $0 = [] } }

  /// Listens.
  func start() async throws {
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard !self.isAway.withLock({ $0 }) else { throw ChannelError.ioOnClosedChannel }
          self.clients.withLock { $0[ObjectIdentifier(channel)] = channel }
          channel.closeFuture.whenComplete { _ in
            self.clients.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
          }
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(self))
        }
      }.bind(host: "127.0.0.1", port: port).get()
    knownPort.withLock { $0 = channel.localAddress?.port ?? 0 }
    listener.withLock { $0 = channel }
  }

  /// Simulates a lost network: connections are closed and new ones refused. The port stays bound, so that no other
  /// test's server gets it.
  func goAway() async throws {
    isAway.withLock { $0 = true }
    for client in clients.withLock({ Array($0.values) }) { try? await client.close() }
  }

  func comeBack() { isAway.withLock { $0 = false } }

  func end() async throws {
    try? await goAway()
    try await listener.withLock { $0 }?.close()
    try await group.shutdownGracefully()
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let origin: TileOrigin
    private var head: HTTPRequestHead?

    init(_ origin: TileOrigin) { self.origin = origin }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): self.head = head
      case .body: break
      case .end:
        guard let head else { return }
        let request = Request(target: head.uri, fields: head.headers)
        origin.log.withLock { $0.append(request) }
        let reply = origin.answer.withLock { $0 }(request)
        guard let gate = origin.gate.withLock({ $0 }) else { return send(reply, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        NIOSingletons.posixBlockingThreadPool.submit { _ in
          gate.wait()
          bound.eventLoop.execute { bound.value.0.send(reply, bound.value.1) }
        }
      }
    }

    private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
      guard context.channel.isActive else { return }
      switch reply {
      case .hang: break
      case .close: context.close(promise: nil)
      case .answer(let status, let body, let fields):
        write(status, body, fields, context)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      case .cut(let body):
        write(200, Array(body.prefix(body.count / 2)), ["content-length": "\(body.count)"], context)
        context.flush()
        context.close(promise: nil)
      case .endless:
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["transfer-encoding": "chunked"])
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        more(NIOLoopBound(context, eventLoop: context.eventLoop))
      }
    }

    private func more(_ context: NIOLoopBound<ChannelHandlerContext>) {
      guard context.value.channel.isActive else { return }
      let bytes = ByteBuffer(repeating: 0x89, count: 1 << 18)
      let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
      context.value.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(bytes)))).whenSuccess {
        bound.value.more(context)
      }
    }

    private func write(_ status: Int, _ body: [UInt8], _ fields: [String: String], _ context: ChannelHandlerContext) {
      var headers = HTTPHeaders(fields.map { ($0.key, $0.value) })
      if fields["content-length"] == nil, status != 204, status != 304 {
        headers.add(name: "content-length", value: "\(body.count)")
      }
      let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
    }
  }
}

/// Runs a test with a web server.
func withOrigin(
  _ answer: @escaping @Sendable (TileOrigin.Request) -> TileOrigin.Reply, _ body: (TileOrigin) async throws -> Void
) async throws {
  let origin = TileOrigin(answer)
  try await origin.start()
  do {
    try await body(origin)
  } catch {
    try await origin.end()
    throw error
  }
  try await origin.end()
}
