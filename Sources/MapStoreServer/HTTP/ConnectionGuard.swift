import HTTPTypes
import LibC
import MapStoreWire
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import ServerSupport
import Support
import Synchronization

/// Limits what one connection, and one address, may cost.
///
/// - An address with too many connections is refused another one. When there are too many of all addresses, one of
///   the address with most of them gives way to that of an address with fewer (``FairBudget``).
/// - A request that does not arrive in time ends its connection.
/// - So does a client that reads its answer too slowly.
/// - An answer with `Connection: close` ends the connection after it was sent.
///
/// Hummingbird closes idle connections, but waits indefinitely for the rest of a body, and for a client that does not
/// read its answer.
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
  /// The number of writes that the system has not accepted yet, and of those that it has.
  private var pendingWrites = 0
  private var takenWrites = 0
  private var closesAfterResponse = false
  private var parserProblem: ParserProblem?
  private let proxies: TrustedProxies
  private let bodyBytesMax: Int
  private let budget: FairBudget
  private let connections: OpenConnections
  private var share: FairBudget.Share?

  init(_ limits: StoreLimits, proxies: TrustedProxies, budget: FairBudget, connections: OpenConnections) {
    (self.proxies, self.budget, self.connections) = (proxies, budget, connections)
    bodyBytesMax = limits.bodyBytes
    requestTime = .seconds(Int64(limits.requestSeconds))
    stallTime = .seconds(Int64(limits.stallSeconds))
  }

  func handlerAdded(context: ChannelHandlerContext) {
    do {
      try RequestCheck.add(to: context.pipeline.syncOperations, bodyBytesMax: bodyBytesMax)
    } catch {
      return context.close(promise: nil)
    }
    if context.channel.isActive { takeSeat(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    takeSeat(context)
    context.fireChannelActive()
  }

  private func takeSeat(_ context: ChannelHandlerContext) {
    guard share == nil else { return }
    let address = ClientAddress(context.remoteAddress?.ipAddress ?? "local")
    let share = budget.share(
      of: proxies.contains(address) ? .proxy(ObjectIdentifier(context.channel)) : .address(address.network))
    guard share.take(1) else { return context.close(promise: nil) }
    share.join(context.channel)
    self.share = share
    connections.insert(context.channel)
    // A few read buffers wait on each connection, and there may be thousands of connections.
    try? context.channel.syncOptions?.setOption(
      .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: Self.readBytes))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    share?.move()
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
    parserProblem = parserProblem ?? ParserProblem(error, bodyBytesMax: bodyBytesMax)
    // Hummingbird answers errors of the parser alone.
    let isOwn = error is RequestCheck.WrongHost || error is ChunkSizes.TooLarge
    context.fireErrorCaught(isOwn ? HTTPParserError.unknown : error)
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

  /// Counts a write as pending until the system has accepted it.
  func watched(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) -> EventLoopPromise<Void> {
    let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
    pendingWrites += 1
    promise.futureResult.assumeIsolated().whenComplete { _ in
      self.pendingWrites -= 1
      self.takenWrites += 1
      self.share?.move()
    }
    watchStall(context)
    return promise
  }

  /// A client is too slow if, within ``StoreLimits/stallSeconds``, the system accepted none of the writes and the
  /// client acknowledged less than ``stallBytes`` of what the system had.
  private func watchStall(_ context: ChannelHandlerContext) {
    guard stallCheck == nil, pendingWrites > 0 else { return }
    let (writes, bytes) = (takenWrites, AcknowledgedBytes.count(on: context.channel))
    let bound = context.loopBound { [self] context in
      stallCheck = nil
      let isTaking = takenWrites != writes || AcknowledgedBytes.count(on: context.channel) - bytes >= Self.stallBytes
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
    share = nil
    connections.remove(context.channel)
    requestDeadline?.cancel()
    stallCheck?.cancel()
    (requestDeadline, stallCheck) = (nil, nil)
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}

/// Work with a handler's context, on the context's event loop only.
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

/// The bytes that the client's system has acknowledged.
///
/// The server's system accepts megabytes before the first of them is sent, and then accepts none for as long as a slow
/// client needs for these. So its own buffer says little about the client's speed.
enum AcknowledgedBytes {
  #if os(Linux)
    /// The beginning of `struct tcp_info` (linux/tcp.h).
    private struct Info {
      var before: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
      var between: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
      /// `tcpi_bytes_acked`, RFC 4898's tcpEStatsAppHCThruOctetsAcked.
      var bytesAcked: UInt64
    }
  #endif

  /// Bytes since the connection was opened; 0 if the system does not say. On the channel's event loop only.
  static func count(on channel: any Channel) -> UInt64 {
    #if os(Linux)
      guard let provider = channel as? any SocketOptionProvider else { return 0 }
      let info: EventLoopFuture<Info> = provider.unsafeGetSocketOption(
        level: SocketOptionLevel(IPPROTO_TCP), name: SocketOptionName(TCP_INFO))
      var bytes: UInt64 = 0
      // On the event loop the future is already complete.
      info.assumeIsolated().whenSuccess { bytes = $0.bytesAcked }
      return bytes
    #else
      return 0
    #endif
  }
}

/// The open connections, so that shutdown can close them.
final class OpenConnections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func insert(_ channel: any Channel) { channels.withLock { $0[ObjectIdentifier(channel)] = channel } }
  func remove(_ channel: any Channel) { channels.withLock { $0[ObjectIdentifier(channel)] = nil } }

  /// Closes all of them; returns how many there were.
  func closeAll() -> Int {
    let all = channels.withLock { Array($0.values) }
    for channel in all { channel.close(mode: .all, promise: nil) }
    return all.count
  }
}

/// Why NIO's parser or ``RequestCheck`` refused a request: it is not HTTP, or its head is too large (431, RFC 6585,
/// section 5).
///
/// Hummingbird answers both with an empty 400, which is replaced by problem details.
private struct ParserProblem {
  private let problem: Problem

  /// Nil for other errors.
  init?(_ error: any Error, bodyBytesMax: Int) {
    switch error {
    case is ChunkSizes.TooLarge: problem = .tooLarge(bodyBytesMax)
    case is RequestCheck.WrongHost: problem = .badRequest("it must have one Host field, a host with or without a port")
    case HTTPParserError.headerOverflow: problem = .headTooLarge
    case is HTTPParserError: problem = .noHTTP
    default: return nil
    }
  }

  /// What to send in place of Hummingbird's head; nil for the head of an earlier request's answer.
  func answer(to head: HTTPResponse) -> (head: HTTPResponse, body: ByteBuffer)? {
    guard head.status == .badRequest, head.headerFields[.contentLength] == "0",
      let bytes = try? WireJSON.encode(problem)
    else { return nil }
    var head = head
    head.status = HTTPResponse.Status(code: problem.status)
    head.headerFields[.contentLength] = String(bytes.count)
    head.headerFields[.contentType] = Problem.contentType
    head.headerFields[.cacheControl] = "no-store"
    return (head, ByteBuffer(bytes: bytes))
  }
}
