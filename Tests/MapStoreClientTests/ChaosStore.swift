import MapStoreWire
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import TileIndex

/// A server on loopback with the map store's interface over a ``SampleShop``, which fails downloads as networks,
/// proxies and broken servers do.
///
/// It accepts every purchase (the evidence is a product's id), and every session token that it has issued.
final class ChaosStore: Sendable {
  /// A request for a file.
  struct FileRequest {
    let file: String
    let isPatch: Bool
    /// Counts from 1.
    let number: Int
    let range: String?
    let ifRange: String?
  }

  /// What happens to an answer.
  enum Fault: Sendable {
    case none
    /// The connection ends after this many bytes of the body.
    case cut(Int)
    /// No bytes follow after this many, and the connection stays open.
    case hang(Int)
    /// `Range` is ignored.
    case wholeFile
    /// Another range than was requested.
    case range(Range<Int>)
    /// A partial answer without `Content-Range`.
    case namelessRange
    /// The body's byte at this offset is changed.
    case damage(Int)
    case tag(String)
    case encoding(String)
    case status(Int, retryAfter: String?)
    /// A closure is called before the body's bytes from this offset on are sent.
    case callback(Int, @Sendable () -> Void)
  }

  struct Book: Sendable {
    var owned: Set<String> = []
    var pending: Set<String> = []
    var refused: Set<String> = []
    /// Bought for another account.
    var others: Set<String> = []
    /// Retired regions, visible to their owners only.
    var retired: Set<String> = []
    var grantKeys: [GrantKey] = []
    var booked: [String] = []
    var tokens: Set<String> = ["first"]
    var requests: [String] = []
    var files: [FileRequest] = []
    /// Answers to send instead of the real ones, by method and path, in order.
    var failures: [String: [(status: Int, retryAfter: String?)]] = [:]
    var grants: SignedGrants?
    var linkNumber = 0
    /// Links that are no longer accepted.
    var deadLinks: Set<Int> = []
    var linksDie = false
  }

  let shop: SampleShop
  let book = Locked(Book())
  let fault: Locked<@Sendable (FileRequest) -> Fault> = Locked({ _ in .none })
  /// Replaces the valid answer, by method and path.
  let lie: Locked<@Sendable (String, ChaosAnswer) -> ChaosAnswer> = Locked({ $1 })
  private let channel: any Channel
  let port: Int
  var address: String { "http://127.0.0.1:\(port)" }

  /// - Parameter owned: the regions that the account owns at first.
  init(_ shop: SampleShop, owned: Set<String> = []) throws {
    self.shop = shop
    book.withLock { $0.owned = owned }
    let box = Locked<ChaosStore?>(nil)
    channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(ChaosHandler { box.withLock { $0 } })
        }
      }
      .bind(host: "127.0.0.1", port: 0).wait()
    port = channel.localAddress?.port ?? 0
    box.withLock { [weak self] in $0 = self }
  }

  func stop() { try? channel.close().wait() }

  /// How often a route was requested.
  func count(_ request: String) -> Int { book.withLock { book in book.requests.count { $0 == request } } }
}

/// A response.
struct ChaosAnswer {
  var status = 200
  var headers: [(String, String)] = []
  var body: [UInt8] = []
  var fault: ChaosStore.Fault = .none
}

private final class ChaosHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let store: () -> ChaosStore?
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  init(_ store: @escaping () -> ChaosStore?) { self.store = store }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): (self.head, body) = (head, [])
    case .body(let buffer): body += Array(buffer.readableBytesView)
    case .end:
      guard let head, let store = store() else { return context.close(promise: nil) }
      send(store.answer(head, body), context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func send(_ answer: ChaosAnswer, _ context: ChannelHandlerContext) {
    var headers = HTTPHeaders(answer.headers)
    if !headers.contains(name: "Content-Length") { headers.add(name: "Content-Length", value: "\(answer.body.count)") }
    let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    switch answer.fault {
    case .cut(let count):
      write(answer.body.prefix(count), context)
      // Closing drops bytes that the system has not buffered yet.
      let channel = context.channel
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer())))).whenComplete { _ in
        channel.close(promise: nil)
      }
    case .hang(let count):
      write(answer.body.prefix(count), context)
      context.flush()
    case .callback(let count, let action):
      write(answer.body.prefix(count), context)
      context.flush()
      action()
      write(answer.body.dropFirst(count), context)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    default:
      write(answer.body[...], context)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }

  private func write(_ bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
    // In small pieces, as from a network.
    var rest = bytes
    while !rest.isEmpty {
      let piece = rest.prefix(4096)
      rest = rest.dropFirst(piece.count)
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: piece)))), promise: nil)
    }
  }
}
