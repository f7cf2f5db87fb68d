import NIOCore
import NIOHTTP1
import ServerSupport

/// Passes input to the fast path, and to NIO's parser from the first request on that the fast path does not read.
/// Without the fast path the parser reads everything.
final class RequestReader: ChannelInboundHandler, RequestBytes {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let connection: ConnectionHandler
  private let limits: ConnectionLimits
  private var hasParser = false
  private var context: ChannelHandlerContext?
  /// What has arrived and is not read, while enough requests wait for their answers.
  private var unread = ByteBuffer()
  private var isReading = false
  private var chunks: ChunkSizes
  /// True after a chunk that is too large: what follows it is not read.
  private var isBroken = false
  /// What the parser gets at a time.
  private static let parsedBytesMax = 4096

  init(_ connection: ConnectionHandler, _ limits: ConnectionLimits) {
    self.connection = connection
    self.limits = limits
    chunks = ChunkSizes(bytesMax: limits.bodyBytesMax)
  }

  var hasUnread: Bool { unread.readableBytes > 0 }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connection.reader = self
  }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    if hasUnread { unread.writeBuffer(&bytes) } else { unread = bytes }
    readOn()
  }

  /// Reads requests until enough of them wait.
  func readOn() {
    guard !isReading, let context else { return }
    isReading = true
    while hasUnread, connection.takesRequests, !isBroken {
      if hasParser {
        parse(unread.readSlice(length: min(unread.readableBytes, Self.parsedBytesMax))!, context)
      } else if let count = connection.takeFast(unread) {
        unread.moveReaderIndex(forwardBy: count)
      } else {
        hasParser = true
        addParser(context)
      }
    }
    if isBroken { unread = ByteBuffer() }
    // The event loop receives into this memory again if nothing else has it.
    if !hasUnread { unread = ByteBuffer() }
    isReading = false
  }

  /// The requests and errors that the parser finds reach the connection before this returns.
  private func parse(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    let tooLarge = chunks.firstTooLarge(bytes.readableBytesView)
    let bytes = tooLarge.map { bytes.getSlice(at: bytes.readerIndex, length: $0)! } ?? bytes
    connection.unparsed = bytes
    context.fireChannelRead(wrapInboundOut(bytes))
    connection.unparsed = ByteBuffer()
    guard tooLarge != nil else { return }
    isBroken = true
    context.fireErrorCaught(ChunkSizes.TooLarge())
  }

  private func addParser(_ context: ChannelHandlerContext) {
    var decoding = NIOHTTPDecoderLimitConfiguration()
    decoding.maxHeaderFieldSize = limits.headerBytesMax
    decoding.maxHeaderListSize = limits.headerBytesMax
    decoding.maxHeaderFieldCount = limits.headerCountMax
    let parser = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)
    do {
      try context.pipeline.syncOperations.addHandler(
        ByteToMessageHandler(parser), position: .after(context.handler))
    } catch {
      context.close(promise: nil)
    }
  }
}
