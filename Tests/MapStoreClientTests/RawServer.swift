import NIOCore
import NIOPosix
import TestSupport

/// A server on loopback that answers with any bytes, whether they are HTTP or not, and for as long as it likes.
final class RawServer: Sendable {
  struct Answer: Sendable {
    /// Sent at once.
    var start = ""
    /// Sent again and again afterwards; empty to send nothing and to keep the connection open.
    var rest = ""
    /// Between two of `rest`; 0 for as fast as the client reads.
    var everyMilliseconds: Int64 = 20
    /// How often `rest` is sent; nil for ever.
    var count: Int?
    var closes = false
  }

  /// The answer to a request's method and path.
  let answer: Locked<@Sendable (String) -> Answer>
  let requests = Locked<[String]>([])
  let port: Int
  private let channel: any Channel
  var address: String { "http://127.0.0.1:\(port)" }

  init(_ answer: @escaping @Sendable (String) -> Answer) throws {
    let (answers, requests) = (Locked(answer), requests)
    self.answer = answers
    channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            RawHandler { request in
              requests.withLock { $0.append(request) }
              return answers.withLock { $0 }(request)
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).wait()
    port = channel.localAddress?.port ?? 0
  }

  func stop() { try? channel.close().wait() }
}

private final class RawHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let answer: (String) -> RawServer.Answer
  private var head = ""
  private var hasAnswered = false

  init(_ answer: @escaping (String) -> RawServer.Answer) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    head += String(buffer: unwrapInboundIn(data))
    guard !hasAnswered, head.contains("\r\n\r\n") else { return }
    hasAnswered = true
    let answer = answer(head.prefix { $0 != "\r\n" }.split(separator: " ").prefix(2).joined(separator: " "))
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer.start)), promise: nil)
    if answer.closes { return context.close(promise: nil) }
    guard !answer.rest.isEmpty else { return }
    let (channel, rest) = (context.channel, ByteBuffer(string: answer.rest))
    let left = Locked(answer.count ?? .max)
    channel.eventLoop.scheduleRepeatedTask(
      initialDelay: .milliseconds(answer.everyMilliseconds), delay: .milliseconds(answer.everyMilliseconds)
    ) { task in
      guard channel.isActive else { return task.cancel() }
      guard channel.isWritable else { return }
      channel.writeAndFlush(rest, promise: nil)
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { task.cancel() }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
