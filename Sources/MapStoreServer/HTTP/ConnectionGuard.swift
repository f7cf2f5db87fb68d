import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Support

/// Ends connections of clients that send a request or take an answer too slowly, after answers that say so, and those of addresses that have too many.
///
/// Hummingbird ends idle connections, but waits without end for the rest of a body, and for a client that takes nothing of an answer.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private static let stallBytes = 16 << 10
  private static let readBytes = 16 << 10

  private let requestTime: TimeAmount
  private let stallTime: TimeAmount
  private var requestDeadline: Scheduled<Void>?
  private var stallCheck: Scheduled<Void>?
  /// Writes that the system has not taken yet, and how many it has taken.
  private var pendingWrites = 0
  private var takenWrites = 0
  private var closesAfterResponse = false
  private var parserProblem: ParserProblem?
  private let addresses: Seats<String>
  private let connections: OpenConnections
  private var seat: Seats<String>.Seat?

  init(_ limits: StoreLimits, addresses: Seats<String>, connections: OpenConnections) {
    (self.addresses, self.connections) = (addresses, connections)
    requestTime = .seconds(Int64(limits.requestSeconds))
    stallTime = .seconds(Int64(limits.stallSeconds))
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { takeSeat(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    takeSeat(context)
    context.fireChannelActive()
  }

  private func takeSeat(_ context: ChannelHandlerContext) {
    guard seat == nil else { return }
    let address = ClientAddress(context.remoteAddress?.ipAddress ?? "local")
    seat = addresses.take(addresses.isExempt(address.text) ? address.text : address.network)
    guard seat != nil else { return context.close(promise: nil) }
    connections.insert(context.channel)
    // What waits to be read is a few buffers for each connection, and there may be thousands.
    try? context.channel.syncOptions?.setOption(
      .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: Self.readBytes))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      requestDeadline?.cancel()
      requestDeadline = context.loopBound { $0.close(promise: nil) }.scheduled(in: requestTime, on: context.eventLoop)
    case .body: break
    case .end:
      requestDeadline?.cancel()
      requestDeadline = nil
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    parserProblem = parserProblem ?? ParserProblem(error)
    context.fireErrorCaught(error)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    if case .head(let head) = part, let answer = parserProblem?.answer(to: head) {
      parserProblem = nil
      closesAfterResponse = true
      context.write(wrapOutboundOut(.head(answer.head)), promise: watched(promise, context))
      context.write(wrapOutboundOut(.body(answer.body)), promise: watched(nil, context))
      return
    }
    if case .head(let head) = part, head.headerFields[.connection] == "close" { closesAfterResponse = true }
    let isLast = if case .end = part { closesAfterResponse } else { false }
    let promise = watched(promise, context)
    if isLast {
      let bound = context.loopBound { $0.close(promise: nil) }
      promise.futureResult.assumeIsolated().whenComplete { _ in bound.run() }
    }
    context.write(data, promise: promise)
  }

  /// Counts a write until the system has taken it.
  private func watched(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) -> EventLoopPromise<Void> {
    let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
    pendingWrites += 1
    promise.futureResult.assumeIsolated().whenComplete { _ in
      self.pendingWrites -= 1
      self.takenWrites += 1
    }
    watchStall(context)
    return promise
  }

  /// A client is too slow when within the time the system took none of the writes, and the client less than ``stallBytes`` of what the system had.
  private func watchStall(_ context: ChannelHandlerContext) {
    guard stallCheck == nil, pendingWrites > 0 else { return }
    let (writes, bytes) = (takenWrites, TakenBytes.count(on: context.channel))
    let bound = context.loopBound { [self] context in
      stallCheck = nil
      let isTaking = takenWrites != writes || TakenBytes.count(on: context.channel) - bytes >= Self.stallBytes
      if pendingWrites > 0, !isTaking { context.close(promise: nil) } else { watchStall(context) }
    }
    stallCheck = bound.scheduled(in: stallTime, on: context.eventLoop)
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop(context) }

  func channelInactive(context: ChannelHandlerContext) {
    stop(context)
    context.fireChannelInactive()
  }

  private func stop(_ context: ChannelHandlerContext) {
    seat = nil
    connections.remove(context.channel)
    requestDeadline?.cancel()
    stallCheck?.cancel()
    (requestDeadline, stallCheck) = (nil, nil)
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}

extension ConnectionGuard {
  /// Sends a part of a file after what was written before, and returns when the system has taken all of it.
  ///
  /// Hummingbird's writer takes bytes only, so this goes past it, to the encoder of HTTP/1: the system moves the bytes from its cache to the connection (`sendfile`), and none of them
  /// come into this process. One piece at a time is on its way; the next follows as soon as it was taken.
  ///
  /// - Parameters:
  ///   - begins: is told of the end of each piece before it goes; of one that a connection was cut off in, nobody knows how much arrived.
  ///   - sent: is told of each piece, in bytes.
  /// - Throws: what the connection or the disk fails with; `ChannelError` when the client has gone.
  static func send(
    _ file: OpenFile, _ range: Range<Int>, on channel: any Channel, begins: @escaping @Sendable (Int) -> Void,
    sent: @escaping @Sendable (Int) -> Void
  ) async throws {
    try await channel.eventLoop.flatSubmit {
      do {
        let pipeline = channel.pipeline.syncOperations
        let sender = FileSender(
          file, range, encoder: try pipeline.context(handlerType: HTTP1ToHTTPServerCodec.self), begins: begins,
          sent: sent)
        return try pipeline.handler(type: ConnectionGuard.self).run(sender)
      } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.get()
  }

  private func run(_ sender: FileSender) -> EventLoopFuture<Void> {
    sender.run { self.watched(nil, $0) }
  }
}

/// Work with a handler's context, for the context's event loop only.
private struct LoopWork: Sendable {
  private let work: NIOLoopBound<(ChannelHandlerContext, (ChannelHandlerContext) -> Void)>

  init(_ context: ChannelHandlerContext, _ work: @escaping (ChannelHandlerContext) -> Void) {
    self.work = NIOLoopBound((context, work), eventLoop: context.eventLoop)
  }

  func run() { work.value.1(work.value.0) }

  func scheduled(in time: TimeAmount, on loop: any EventLoop) -> Scheduled<Void> {
    loop.scheduleTask(in: time) { run() }
  }
}

extension ChannelHandlerContext {
  fileprivate func loopBound(_ work: @escaping (ChannelHandlerContext) -> Void) -> LoopWork { LoopWork(self, work) }
}
