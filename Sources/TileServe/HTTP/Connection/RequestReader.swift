import NIOCore
import NIOHTTP1

/// Cuts what a client sends into requests: plain ones itself, and from the first that is not plain on, everything through NIO's parser.
final class RequestReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let connection: ConnectionHandler
  private let limits: ConnectionLimits
  private var isPlain = true

  init(_ connection: ConnectionHandler, _ limits: ConnectionLimits) {
    self.connection = connection
    self.limits = limits
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    guard isPlain else { return parse(bytes, context) }
    while bytes.readableBytes > 0 {
      if let count = connection.answerReady(bytes) {
        bytes.moveReaderIndex(forwardBy: count)
        continue
      }
      guard let request = PlainRequest(bytes, limits) else {
        isPlain = false
        addParser(context)
        return parse(bytes, context)
      }
      connection.receive(request, in: bytes)
      bytes.moveReaderIndex(forwardBy: request.byteCount)
    }
  }

  /// What the parser finds in them, errors too, reaches the connection before this returns.
  private func parse(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    connection.unparsed = bytes
    context.fireChannelRead(wrapInboundOut(bytes))
    connection.unparsed = ByteBuffer()
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
