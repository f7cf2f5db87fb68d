import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import ServerSupport

/// Checks of HTTP/1 that neither NIO's parser nor Hummingbird makes: one Host (RFC 9112, section 3.2), connections of
/// HTTP/1.0 that close, 100 Continue (RFC 9110, section 10.1.1).
final class RequestCheck: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// A request without a Host, with two, or with one that is none.
  struct WrongHost: Error {}

  private let bodyBytesMax: Int
  private var isBroken = false
  private var unansweredCount = 0
  /// True while the client waits for the word to send its body.
  private var isAwaited = false

  private init(bodyBytesMax: Int) { self.bodyBytesMax = bodyBytesMax }

  /// Puts the checks below Hummingbird's handlers.
  static func add(to pipeline: ChannelPipeline.SynchronousOperations, bodyBytesMax: Int) throws {
    let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
    try pipeline.addHandler(RequestCheck(bodyBytesMax: bodyBytesMax), position: .before(codec))
    try pipeline.addHandler(ChunkCheck(bodyBytesMax), position: .first)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isBroken else { return }
    guard case .head(var head) = unwrapInboundIn(data) else {
      isAwaited = false
      return context.fireChannelRead(data)
    }
    let framing = RequestFraming(head)
    let hosts = head.headers["host"]
    guard RequestFraming.hostFault(count: hosts.count, minorVersion: framing.minorVersion, host: hosts.first) == nil
    else {
      isBroken = true
      return context.fireErrorCaught(WrongHost())
    }
    unansweredCount += 1
    if framing.minorVersion == 0 { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    // A body that is too large gets its final answer at once.
    let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    isAwaited = framing.expectation == .proceed && length <= bodyBytesMax
    context.fireChannelRead(wrapInboundOut(.head(head)))
    proceed(context)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    context.write(data, promise: promise)
    guard case .end = part else { return }
    unansweredCount -= 1
    if unansweredCount == 0 { isAwaited = false }
    proceed(context)
  }

  /// Not before the answers to earlier requests.
  private func proceed(_ context: ChannelHandlerContext) {
    guard isAwaited, unansweredCount == 1 else { return }
    isAwaited = false
    context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }
}

@available(*, unavailable)
extension RequestCheck: Sendable {}

/// Ends what announces a chunk of more bytes than any body may have.
private final class ChunkCheck: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var sizes: ChunkSizes
  private var isBroken = false

  init(_ bytesMax: Int) { sizes = ChunkSizes(bytesMax: bytesMax) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isBroken else { return }
    let bytes = unwrapInboundIn(data)
    guard let count = sizes.firstTooLarge(bytes.readableBytesView) else { return context.fireChannelRead(data) }
    isBroken = true
    if count > 0 { context.fireChannelRead(wrapInboundOut(bytes.getSlice(at: bytes.readerIndex, length: count)!)) }
    context.fireErrorCaught(ChunkSizes.TooLarge())
  }
}

@available(*, unavailable)
extension ChunkCheck: Sendable {}
