import NIOCore
import NIOHTTP1
import ServerSupport
import Support
import Synchronization

/// One client's connection: requests are answered one after the other, in their order.
///
/// Everything here runs on the connection's event loop. Work that may block runs on the registry's threads.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Item {
    case request(RequestFacts, NIODeadline)
    /// The client may send the body of the current request (100 Continue).
    case proceed
    /// The input is unreadable, or the body of a request is not read; this is the last response.
    case failure(status: Int, reason: String, of: RequestFacts = .unreadable)
  }

  private let service: TileService
  private let loop: LoopState
  private let isTrusted: Bool
  private let peer: String
  private let peerNumber: Int
  private var context: ChannelHandlerContext?
  private var waiting = Queue<Item>()
  /// Nil if it is switched off.
  private var fastPath: FastPath.Connection?
  /// Responses that the pipeline has not written to the socket yet.
  private var queuedCount = 0
  private var head: RequestFacts?
  private var bodyCount = 0
  /// True from the start of a request until its response is written.
  private var isAnswering = false
  /// A request that a thread answers, or that waits for one.
  private struct Pending {
    let request: TileService.RequestContext
    let start: NIODeadline
    let cancellation: Cancellation
  }

  private var pending: Pending?
  /// No more requests are read or answered; the connection closes when its bytes are sent.
  private var isEnding = false
  /// True if the client's input is not HTTP; the error response may have to wait for earlier ones.
  private var isUnreadable = false
  /// The bytes that the parser is reading.
  var unparsed = ByteBuffer() {
    didSet { parsedCount = 0 }
  }
  /// Heads of requests that the parser has found in them.
  private var parsedCount = 0
  private var readIsHeldBack = false
  /// What passes the client's bytes on.
  weak var reader: (any RequestBytes)?
  private var needsFlush = false
  /// Answers since the event loop turned to this connection, and whether it waits for its next turn.
  private var turn = (count: 0, isOver: false)
  /// So that clients who send many requests at once do not keep all others of the event loop waiting.
  private static let turnMax = 16
  /// True while this handler works through its queue, so that an immediate response does not start the loop again.
  private var isWorking = false
  private var unwritableSince: NIODeadline?
  /// When the connection is closed for inactivity.
  private(set) var deadline: NIODeadline
  /// The end of the last request; nil while a request is in progress.
  private(set) var idleSince: NIODeadline?

  init(_ service: TileService, _ loop: LoopState, peer: String, isTrusted: Bool) {
    self.service = service
    self.loop = loop
    self.peer = peer
    peerNumber = peer.hashValue
    self.isTrusted = isTrusted
    deadline = .now() + .seconds(Int64(loop.limits.requestSeconds))
    idleSince = .now()
  }

  // MARK: The connection

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    fastPath = loop.fastPath.map {
      FastPath.Connection($0, service, loop.limits, isTrusted: isTrusted, context.pipeline.syncOperations)
    }
    loop.insert(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    loop.remove(self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    isEnding = true
    waiting.removeAll()
    // Nobody reads the answer.
    pending?.cancellation.cancel()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // After an error of the parser all further input is an error.
    guard !isEnding, !isUnreadable else { return }
    if error is ChunkSizes.TooLarge, let facts = head {
      isUnreadable = true
      refuseBody(of: facts, context)
      return flush(context)
    }
    guard let error = error as? HTTPParserError else {
      // The peer has disconnected, or does not speak TLS.
      context.close(promise: nil)
      return
    }
    head = nil
    isUnreadable = true
    switch error {
    case .headerOverflow:
      waiting.append(.failure(status: 431, reason: "the header fields are larger than this server takes"))
    case .invalidMethod where beginsWithMethod(unparsed):
      waiting.append(.failure(status: 405, reason: TileService.allowedMethods))
    default: waiting.append(.failure(status: 400, reason: "this is no HTTP/1.1 request"))
    }
    work(context)
    flush(context)
  }

  /// True if the bytes begin with a token and a space: a method that the parser may not know (RFC 9112, section 3).
  private func beginsWithMethod(_ bytes: ByteBuffer) -> Bool {
    var bytes = bytes.readableBytesView
    // Skips the requests before it.
    for _ in 0..<parsedCount {
      guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { break }
      bytes = bytes[end.upperBound...]
    }
    let rest = bytes.drop(while: RawFields.isTokenByte)
    return rest.count < bytes.count && rest.first ?? UInt8(ascii: " ") == UInt8(ascii: " ")
  }

  /// Closes at once, without a response.
  func drop() {
    // It closes in a moment, so ``LoopState/makeRoom()`` must not choose it again.
    idleSince = nil
    loop.shard.dropped()
    context?.close(promise: nil)
  }

  /// Answers the request in progress with 503, and closes the connection: the time for answers is over, or it has no
  /// answer because other work has the threads.
  func refuse() {
    if isEnding { return }
    guard let context, let pending else { return drop() }
    let reply = service.failure(CancellationError(), .other, pending.request)
    pending.cancellation.cancel()
    waiting.removeAll()
    finish(reply, pending.request.facts, pending.start, context)
    flush(context)
  }

  /// Closes the connection if it is idle.
  func drain() {
    guard let context, !isEnding, !isAnswering, waiting.isEmpty, head == nil else { return }
    isEnding = true
    // The last response may not be sent yet.
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
      bound.value.close(promise: nil)
    }
  }

  /// Called every second.
  func tick(now: NIODeadline) {
    if let since = unwritableSince, now - since > .seconds(Int64(loop.limits.writeSeconds)) { return drop() }
    // While a request is being answered only slow reading by the client is limited.
    if !isAnswering, waiting.isEmpty, unwritableSince == nil, now > deadline { drop() }
  }

  // MARK: Requests

  /// False while enough requests wait for their answers. Input of a connection that ends is read, and dropped.
  var takesRequests: Bool { isEnding || waiting.count < loop.limits.pipelinedCountMax }

  /// Takes the request at the beginning of a buffer on the fast path.
  ///
  /// - Returns: the bytes that the request takes; nil when NIO's parser has to read it, and all that follows.
  func takeFast(_ buffer: ByteBuffer) -> Int? {
    guard let fastPath else { return nil }
    if let count = answerReady(buffer, fastPath) { return count }
    guard let (facts, count) = fastPath.request(buffer) else { return nil }
    if !isEnding, !isUnreadable, let context {
      idleSince = nil
      waiting.append(.request(facts, .now()))
      work(context)
    }
    return count
  }

  private func answerReady(_ buffer: ByteBuffer, _ fastPath: FastPath.Connection) -> Int? {
    guard !isAnswering, !isEnding, !isUnreadable, waiting.isEmpty, loop.accessLog == nil, !loop.isDraining,
      turn.count < Self.turnMax, let context,
      queuedCount == 0 || context.channel.isWritable,
      let answer = fastPath.answer(buffer, mayBypassPipeline: queuedCount == 0, date: { loop.dateField() })
    else { return nil }
    turn.count += 1
    switch answer.rest {
    case .nothing: break
    case .bytes(let first, let second):
      write(first, second, context, promise: nil)
      needsFlush = true
    case .broken:
      isEnding = true
      context.close(promise: nil)
    }
    record(answer.route, status: 200, bytes: answer.bodyCount, answer.start)
    return answer.requestCount
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnding else { return }
    switch unwrapInboundIn(data) {
    case .head(let request):
      parsedCount += 1
      idleSince = nil
      deadline = .now() + .seconds(Int64(loop.limits.requestSeconds))
      bodyCount = 0
      let facts = RequestFacts(request)
      head = facts
      if facts.hasBody { judgeBody(of: facts, context) }
    case .body(let bytes):
      bodyCount += bytes.readableBytes
      guard bodyCount > loop.limits.bodyBytesMax, let facts = head else { return }
      refuseBody(of: facts, context)
    case .end:
      guard let facts = head else { return }
      head = nil
      waiting.append(.request(facts, .now()))
      work(context)
    }
  }

  /// A body that is larger than what is read gets the final response at once, whether or not it is sent. A client that
  /// waits before it sends its body gets 100 Continue if the body will be read, and otherwise the final response too
  /// (RFC 9110, section 10.1.1).
  private func judgeBody(of facts: RequestFacts, _ context: ChannelHandlerContext) {
    guard facts.contentLength ?? 0 <= loop.limits.bodyBytesMax else { return refuseBody(of: facts, context) }
    guard facts.expectation != .none else { return }
    guard facts.method != .other, facts.expectation == .proceed else { return refuseBody(of: facts, context) }
    waiting.append(.proceed)
    work(context)
  }

  /// Answers without reading the rest of the body, and closes the connection.
  private func refuseBody(of facts: RequestFacts, _ context: ChannelHandlerContext) {
    head = nil
    if facts.method == .other || facts.expectation == .unknown {
      waiting.append(.request(facts.last, .now()))
    } else {
      waiting.append(.failure(status: 413, reason: "requests have no body here", of: facts))
    }
    work(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if !turn.isOver { turn.count = 0 }
    flush(context)
    context.fireChannelReadComplete()
  }

  /// Stops reading while too many requests wait, so that a client that does not read its responses cannot exhaust the
  /// memory.
  func read(context: ChannelHandlerContext) {
    if !takesRequests || reader?.hasUnread == true || isEnding {
      readIsHeldBack = true
    } else {
      context.read()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      unwritableSince = nil
      deadline = .now() + .seconds(Int64(loop.limits.idleSeconds))
      work(context)
      flush(context)
    } else {
      unwritableSince = .now()
    }
    context.fireChannelWritabilityChanged()
  }

  // MARK: Answers

  /// Answers queued requests until one has to wait for a thread, or it is the turn of other connections.
  private func work(_ context: ChannelHandlerContext) {
    guard !isWorking, !turn.isOver else { return }
    isWorking = true
    var mayAnswer: Bool { !isAnswering && !isEnding && context.channel.isWritable }
    while mayAnswer, turn.count < Self.turnMax, let item = waiting.popFirst() {
      turn.count += 1
      switch item {
      case .request(let facts, let start): answer(facts, start, context)
      case .proceed:
        write(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), nil, context, promise: nil)
        needsFlush = true
      case .failure(let status, let reason, let facts): fail(status, reason, facts, context)
      }
    }
    isWorking = false
    if mayAnswer, !waiting.isEmpty {
      turn.isOver = true
      loop.wait(forTurnOf: self, context.eventLoop)
    }
    reader?.readOn()
    if readIsHeldBack, !isEnding, takesRequests {
      readIsHeldBack = false
      context.read()
    }
  }

  /// Goes on with the requests that were left when the last turn was over.
  func takeTurn() {
    turn = (0, false)
    guard let context else { return }
    work(context)
    flush(context)
  }

  private func answer(_ facts: RequestFacts, _ start: NIODeadline, _ context: ChannelHandlerContext) {
    isAnswering = true
    let connection = TileService.ConnectionContext(
      client: peerNumber, date: loop.date(), isTrusted: isTrusted, isDraining: loop.isDraining,
      isLeaving: { [service] in service.isLeaving.load(ordering: .relaxed) })
    let generation = service.registry.generation
    switch service.plan(facts, connection) {
    case .reply(let reply): finish(reply, facts, start, context)
    case .storedTile(let reply, let served):
      fastPath?.keep(reply, of: served, for: facts, generation: generation)
      finish(reply, facts, start, context)
    case .work(let lane, let make):
      let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
      let eventLoop = context.eventLoop
      let service = service
      let cancellation = service.registry.work.cancellation()
      let request = TileService.RequestContext(
        facts: facts, connection: connection, crossOrigin: service.options.crossOrigin)
      pending = Pending(request: request, start: start, cancellation: cancellation)
      let accepted = service.registry.work.submit(lane, request: cancellation) {
        let reply = cancellation.isCancelled ? service.failure(CancellationError(), .other, request) : try make()
        guard !service.hasEnded.load(ordering: .sequentiallyConsistent) else { return }
        eventLoop.execute {
          let handler = handler.value
          guard let context = handler.context, !handler.isEnding else { return }
          handler.finish(reply, facts, start, context)
          handler.work(context)
          handler.flush(context)
        }
      }
      guard !accepted else { return }
      finish(
        request.writer(.other).failure(503, "too many requests wait for this tileset", fields: TileService.retry),
        facts,
        start, context)
    }
  }

  private func finish(
    _ reply: EncodedResponse, _ facts: RequestFacts, _ start: NIODeadline, _ context: ChannelHandlerContext
  ) {
    isAnswering = false
    pending = nil
    let time = record(reply.route, status: reply.status, bytes: reply.bodyCount, start)
    write(reply, context)
    loop.accessLog?.record(
      facts, reply, peer: service.addresses.client(facts, isTrusted: isTrusted) ?? peer, nanoseconds: time.nanoseconds)
  }

  /// Counts a response.
  @discardableResult
  private func record(_ route: RouteName, status: Int, bytes: Int, _ start: NIODeadline) -> TimeAmount {
    let now = NIODeadline.now()
    if waiting.isEmpty, head == nil { idleSince = now }
    deadline = now + .seconds(Int64(loop.limits.idleSeconds))
    loop.shard.record(route, status: status, bytes: bytes, nanoseconds: UInt64((now - start).nanoseconds))
    return now - start
  }

  private func fail(_ status: Int, _ reason: String, _ facts: RequestFacts, _ context: ChannelHandlerContext) {
    let reply = ReplyWriter(
      request: facts, route: .other, date: loop.date(),
      commonFields: CrossOriginFields.fields(service.options.crossOrigin, facts, .other), isDraining: true
    ).failure(status, reason, fields: status == 405 ? TileService.allow : "")
    loop.shard.record(.other, status: status, bytes: reply.bodyCount, nanoseconds: 0)
    loop.shard.dropped()
    write(reply, context)
  }

  private func write(_ reply: EncodedResponse, _ context: ChannelHandlerContext) {
    needsFlush = true
    // A response that was begun before the drain has no Connection: close.
    guard reply.closes || loop.isDraining && waiting.isEmpty && head == nil else {
      write(reply.bytes, reply.body, context, promise: nil)
      return
    }
    isEnding = true
    waiting.removeAll()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    let end = context.eventLoop.makePromise(of: Void.self)
    write(reply.bytes, reply.body, context, promise: end)
    end.futureResult.whenComplete { _ in LingeringClose.close(bound.value) }
  }

  /// - Parameter promise: fulfilled when all bytes have been written to the socket.
  private func write(
    _ first: ByteBuffer, _ second: ByteBuffer?, _ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?
  ) {
    let end = promise ?? context.eventLoop.makePromise(of: Void.self)
    queuedCount += 1
    end.futureResult.assumeIsolated().whenComplete { _ in self.queuedCount -= 1 }
    context.write(wrapOutboundOut(first), promise: second == nil ? end : nil)
    if let second { context.write(wrapOutboundOut(second), promise: end) }
  }

  private func flush(_ context: ChannelHandlerContext) {
    guard needsFlush else { return }
    needsFlush = false
    context.flush()
  }
}

/// Closes a connection so that the client gets the last response: closing while it still sends would reset the
/// connection, and its system would discard unread data (RFC 9112, section 9.6).
enum LingeringClose {
  /// Seconds until the connection is closed completely.
  private static let seconds: Int64 = 1

  static func close(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.close(mode: .output).whenComplete { result in
      let context = bound.value
      guard case .success = result else {
        // TLS connections cannot be half-closed.
        context.close(promise: nil)
        return
      }
      context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(seconds)) { context.close(promise: nil) }
    }
  }
}

/// A client's bytes on their way to its connection.
protocol RequestBytes: AnyObject {
  /// True while more has arrived than the connection takes.
  var hasUnread: Bool { get }
  /// Reads requests until enough of them wait.
  func readOn()
}
