import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

@testable import PurchaseLedger

/// An HTTP server in the test process that imitates a store's API and can be told to fail.
final class StoreServer: Sendable {
  struct Request: Sendable {
    var method: String
    /// Path and query.
    var target: String
    var headers: HTTPHeaders
    var body: [UInt8]

    var path: String { String(target.prefix { $0 != "?" }) }
    var text: String { String(decoding: body, as: UTF8.self) }

    func field(_ name: String) -> String? { headers.first(name: name) }

    /// A query parameter, without percent-decoding, which the tests do not need.
    func query(_ name: String) -> String? {
      target.drop { $0 != "?" }.dropFirst().split(separator: "&").first { $0.hasPrefix("\(name)=") }
        .map { String($0.dropFirst(name.count + 1)) }
    }
  }

  enum Reply: Sendable {
    case json(Int, String, headers: [String: String] = [:])
    /// Announces the full length, sends half and closes the connection.
    case truncated(String)
    /// Accepts the request and never responds.
    case hang
    /// Announces the full length, sends half and keeps the connection open.
    case stalled(String)

    static func json(_ text: String) -> Self { .json(200, text) }
  }

  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel
  private let log = Mutex<[Request]>([])

  var requests: [Request] { log.withLock { $0 } }
  var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

  /// Runs `body` with a server and a client, and closes both even if `body` throws.
  static func with<Client, Value>(
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
  static func start(_ answer: @escaping @Sendable (Request, Int) -> Reply) async throws -> StoreServer {
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

  func stop() async throws {
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
      var headers = HTTPHeaders([("content-type", "application/json")])
      if fields["content-length"] == nil { headers.add(name: "content-length", value: "\(text.utf8.count)") }
      for (name, value) in fields { headers.add(name: name, value: value) }
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

/// A sink that keeps pages and cursors in memory.
final class PageSink: SnapshotSink {
  private struct State {
    var pages: [SnapshotPage] = []
    var cursors: [String: String] = [:]
  }

  private let state = Mutex(State())

  init(cursors: [String: String] = [:]) { state.withLock { $0.cursors = cursors } }

  func store(_ page: SnapshotPage) throws {
    state.withLock { state in
      state.pages.append(page)
      if let cursor = page.cursor { state.cursors[cursor.name] = cursor.value }
    }
  }

  func cursor(_ name: String) throws -> (value: String, updatedAt: Int64)? {
    state.withLock { $0.cursors[name] }.map { ($0, 0) }
  }

  /// The gaps that came with pages.
  var lost: [LostWindow] { state.withLock { $0.pages.compactMap { $0.feed?.lost } } }
  var evidence: [(bytes: [UInt8], content: VerifiedEvidence)] { state.withLock { $0.pages.flatMap(\.evidence) } }
  var cursors: [String: String] { state.withLock { $0.cursors } }
  var transactionIDs: [[String]] {
    state.withLock { state in
      state.pages.map { $0.evidence.flatMap { piece in piece.content.transactions.map(\.transactionID) } }
    }
  }
}
