import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Ends connections of clients that send a request or take an answer too slowly, and after answers that say so.
///
/// Hummingbird ends idle connections, but waits without end for the rest of a body, and for a client that takes nothing of an answer.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let requestTime: TimeAmount
  private let stallTime: TimeAmount
  private var requestDeadline: Scheduled<Void>?
  private var stallCheck: Scheduled<Void>?
  /// Writes that the system has not taken yet, and how many it has taken.
  private var pendingWrites = 0
  private var takenWrites = 0
  private var closesAfterResponse = false

  init(_ limits: StoreLimits) {
    requestTime = .seconds(Int64(limits.requestSeconds))
    stallTime = .seconds(Int64(limits.stallSeconds))
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

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
    pendingWrites += 1
    let part = unwrapOutboundIn(data)
    if case .head(let head) = part, head.headerFields[.connection] == "close" { closesAfterResponse = true }
    let isLast = if case .end = part { closesAfterResponse } else { false }
    let bound = context.loopBound { $0.close(promise: nil) }
    promise.futureResult.assumeIsolated().whenComplete { _ in
      self.pendingWrites -= 1
      self.takenWrites += 1
      if isLast { bound.run() }
    }
    context.write(data, promise: promise)
    watchStall(context)
  }

  private func watchStall(_ context: ChannelHandlerContext) {
    guard stallCheck == nil, pendingWrites > 0 else { return }
    let taken = takenWrites
    let bound = context.loopBound { [self] context in
      stallCheck = nil
      if pendingWrites > 0, takenWrites == taken { context.close(promise: nil) } else { watchStall(context) }
    }
    stallCheck = bound.scheduled(in: stallTime, on: context.eventLoop)
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  func channelInactive(context: ChannelHandlerContext) {
    stop()
    context.fireChannelInactive()
  }

  private func stop() {
    requestDeadline?.cancel()
    stallCheck?.cancel()
    (requestDeadline, stallCheck) = (nil, nil)
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}

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
