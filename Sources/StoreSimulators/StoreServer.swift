import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server on the loopback interface of this process that answers in the place of a store's API: from a
/// function, such as a simulator's, which may make it fail.
package final class StoreServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    /// Path and query.
    package var target: String
    let headers: HTTPHeaders
    package var body: [UInt8]

    package init(method: String, target: String, fields: [(String, String)] = [], body: [UInt8] = []) {
      self.init(method: method, target: target, headers: HTTPHeaders(fields), body: body)
    }

    init(method: String, target: String, headers: HTTPHeaders, body: [UInt8]) {
      self.method = method
      self.target = target
      self.headers = headers
      self.body = body
    }

    package var path: String { String(target.prefix { $0 != "?" }) }
    package var text: String { String(decoding: body, as: UTF8.self) }

    package func field(_ name: String) -> String? { headers.first(name: name) }

    /// A query parameter, without percent-decoding.
    package func query(_ name: String) -> String? {
      target.drop { $0 != "?" }.dropFirst().split(separator: "&").first { $0.hasPrefix("\(name)=") }
        .map { String($0.dropFirst(name.count + 1)) }
    }
  }

  package enum Reply: Sendable {
    case json(Int, String, headers: [String: String] = [:])
    /// Announces the full length, sends half and closes the connection.
    case truncated(String)
    /// Closes the connection without an answer.
    case closed
    /// Accepts the request and never responds.
    case hang
    /// Announces the full length, sends half and keeps the connection open.
    case stalled(String)

    package static func json(_ text: String) -> Self { .json(200, text) }
  }

  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel
  private let log = Mutex<[Request]>([])

  package var requests: [Request] { log.withLock { $0 } }
  package var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

  /// Runs `body` with a server and a client, and closes both even if `body` throws.
  package static func with<Client, Value>(
    _ answer: @escaping @Sendable (Request, Int) -> Reply, client make: (StoreServer) throws -> Client,
    shutdown: (Client) async throws -> Void, _ body: (Client, StoreServer) async throws -> Value
  ) async throws -> Value {
    let server = try await start(answer)
    let client = try make(server)
    let result: Result<Value, any Error>
    do { result = .success(try await body(client, server)) } catch { result = .failure(error) }
    try await shutdown(client)
    try await server.stop()
    return try result.get()
  }

  /// - Parameter answer: Called with each request and its number, counted from 0.
  package static func start(_ answer: @escaping @Sendable (Request, Int) -> Reply) async throws -> StoreServer {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let record = Record(answer)
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(record))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    let server = StoreServer(group: group, channel: channel)
    record.server.withLock { $0 = server }
    return server
  }

  private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
    self.group = group
    self.channel = channel
  }

  package func stop() async throws {
    try await channel.close()
    try await group.shutdownGracefully()
  }

  /// The state that all connections share.
  private final class Record: Sendable {
    let answer: @Sendable (Request, Int) -> Reply
    let server = Mutex<StoreServer?>(nil)

    init(_ answer: @escaping @Sendable (Request, Int) -> Reply) { self.answer = answer }

    func take(_ request: Request) -> Reply {
      guard let server = server.withLock({ $0 }) else { return .json(503, "{}") }
      let number = server.log.withLock { log in
        log.append(request)
        return log.count - 1
      }
      return answer(request, number)
    }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let record: Record
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ record: Record) { self.record = record }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, [])
      case .body(let part): body.append(contentsOf: part.readableBytesView)
      case .end:
        guard let head else { return }
        let request = Request(method: head.method.rawValue, target: head.uri, headers: head.headers, body: body)
        answer(record.take(request), context)
      }
    }

    private func answer(_ reply: Reply, _ context: ChannelHandlerContext) {
      switch reply {
      case .closed: context.close(promise: nil)
      case .hang: break
      case .json(let status, let text, let headers): send(status, text, headers, context)
      case .stalled(let text):
        send(200, String(text.prefix(text.count / 2)), ["content-length": "\(text.utf8.count)"], context)
      case .truncated(let text):
        send(200, String(text.prefix(text.count / 2)), ["content-length": "\(text.utf8.count)"], context, closing: true)
      }
    }

    private func send(
      _ status: Int, _ text: String, _ fields: [String: String], _ context: ChannelHandlerContext,
      closing: Bool = false
    ) {
      var headers = HTTPHeaders([("content-type", "application/json"), ("content-length", "\(text.utf8.count)")])
      for (name, value) in fields { headers.replaceOrAdd(name: name, value: value) }
      let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
      if closing {
        context.close(promise: nil)
      } else {
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
}
