import NIOCore
import NIOHTTP1
import Synchronization

/// One client's connection: requests are answered one after the other, in their order, whoever makes the answer.
///
/// Everything here runs on the connection's event loop. What may block goes to the shelf's threads and comes back.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Item {
    case request(RequestFacts, NIODeadline)
    /// The body of the request that is being read may come.
    case proceed
    /// Nothing can be read any more; this is the last answer.
    case failure(status: Int, reason: String)
  }

  private let service: TileService
  private let loop: LoopState
  private let isTrusted: Bool
  private let peer: String
  private let peerNumber: Int
  private var context: ChannelHandlerContext?
  private var waiting = Queue<Item>()
  private var memory = RequestMemory()
  private var socket: DirectSocket?
  /// Responses that the pipeline has not handed to the system yet.
  private var queuedCount = 0
  private var head: RequestFacts?
  private var bodyCount = 0
  /// True from the moment a request is taken up until its answer is written.
  private var isAnswering = false
  /// Nothing more is read or answered; the connection closes when its bytes are out.
  private var isEnding = false
  /// True when what the client sends is no HTTP; the answer that says so may have to wait for others.
  private var isUnreadable = false
  /// What the parser is being given.
  var unparsed = ByteBuffer()
  private var readIsHeldBack = false
  private var needsFlush = false
  /// True while this handler works through its queue, so that an answer made at once does not start the work anew.
  private var isWorking = false
  private var unwritableSince: NIODeadline?
  /// When the connection is closed unless something happens before.
  private(set) var deadline: NIODeadline
  /// Since when nothing has been asked or answered; nil while there is something to do.
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
    // Encrypted bytes have to go through the pipeline.
    if service.options.tls == nil { socket = DirectSocket(context.pipeline.syncOperations) }
    loop.insert(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    loop.remove(self)
  }

  func channelInactive(context: ChannelHandlerContext) {
    isEnding = true
    waiting.removeAll()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // After an error of the parser everything else that comes is one.
    guard !isEnding, !isUnreadable else { return }
    guard let error = error as? HTTPParserError else {
      // The peer is gone, or speaks no TLS.
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

  /// True for a word with a space behind it, as far as it is here: a method that the parser may not know (RFC 9112, section 3).
  private func beginsWithMethod(_ bytes: ByteBuffer) -> Bool {
    let rest = bytes.readableBytesView.drop(while: PlainRequest.isTokenByte)
    return rest.count < bytes.readableBytes && rest.first ?? UInt8(ascii: " ") == UInt8(ascii: " ")
  }

  /// Closes at once, without an answer.
  func drop() {
    // It leaves in a moment; nobody need choose it again.
    idleSince = nil
    loop.shard.dropped()
    context?.close(promise: nil)
  }

  /// Ends the connection when what it is doing is done.
  func drain() {
    guard let context, !isEnding, !isAnswering, waiting.isEmpty, head == nil else { return }
    isEnding = true
    // The last answer may still be on its way out.
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
      bound.value.close(promise: nil)
    }
  }

  /// Called every second.
  func tick(now: NIODeadline) {
    if let since = unwritableSince, now - since > .seconds(Int64(loop.limits.writeSeconds)) { return drop() }
    // While a request is being answered only the client's reading has a limit.
    if !isAnswering, waiting.isEmpty, unwritableSince == nil, now > deadline { drop() }
  }

  // MARK: Requests

  /// Answers the request at the beginning of a buffer where it repeats the last one but for its target, and the answer is ready.
  ///
  /// - Returns: the bytes that the request takes; nil when it must be read as others are.
  func answerReady(_ buffer: ByteBuffer) -> Int? {
    guard !isAnswering, !isEnding, !isUnreadable, waiting.isEmpty, loop.accessLog == nil, !loop.isDraining, let context,
      queuedCount == 0 || context.channel.isWritable
    else { return nil }
    return buffer.withUnsafeReadableBytes { bytes in
      guard let target = memory.target(bytes) else { return nil }
      let start = NIODeadline.now()
      guard let ready = service.readyReply(UnsafeRawBufferPointer(rebasing: bytes[target])),
        !ready.isGzipped || memory.acceptsGzip
      else { return nil }
      let count = memory.byteCount(target)
      // Where more requests have come already their answers leave together.
      guard send(ready, isLast: count == bytes.count, start, context) else { return nil }
      record(ready.route, status: 200, bytes: ready.bodyCount, start)
      if !needsFlush { loop.tookTurn() }
      return count
    }
  }

  /// - Returns: false when the response cannot be had without waiting for a disk.
  private func send(
    _ ready: ReadyReply, isLast: Bool, _ start: NIODeadline, _ context: ChannelHandlerContext
  ) -> Bool {
    var sent = 0
    if let socket, isLast, queuedCount == 0 {
      let taken = ready.withParts(loop.dateField(), now: start.uptimeNanoseconds) { head, pages in
        socket.send(head, pages, through: loop.pages)
      }
      switch taken {
      case .some(.some(let count)): sent = count
      case .some(.none):
        end(context)
        return true
      case .none: break
      }
    }
    guard sent < ready.responseCount else { return true }
    guard ready.readBody(into: &loop.room) else {
      if sent > 0 { end(context) }
      return sent > 0
    }
    let (first, second) = ready.rest(after: sent, loop.dateField(), loop.room)
    write(first, second, context, promise: nil)
    needsFlush = true
    return true
  }

  private func end(_ context: ChannelHandlerContext) {
    isEnding = true
    context.close(promise: nil)
  }

  /// Takes a request that is whole and has no body, at the beginning of a buffer.
  func receive(_ request: PlainRequest, in buffer: ByteBuffer) {
    guard !isEnding, !isUnreadable, let context else { return }
    let facts = RequestFacts(request)
    if service.takesReadyReplies(facts, isTrusted: isTrusted) {
      memory.remember(request, in: buffer, acceptsGzip: facts.acceptsGzip)
    } else {
      memory.forget()
    }
    idleSince = nil
    waiting.append(.request(facts, .now()))
    work(context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnding else { return }
    switch unwrapInboundIn(data) {
    case .head(let request):
      idleSince = nil
      deadline = .now() + .seconds(Int64(loop.limits.requestSeconds))
      bodyCount = 0
      let facts = RequestFacts(request)
      head = facts
      if facts.hasBody, facts.expectation != .none { meetExpectation(of: facts, context) }
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

  /// A client that waits before it sends its body is told to go on where the body would be read, and gets its answer at once where it would not
  /// (RFC 9110, section 10.1.1).
  private func meetExpectation(of facts: RequestFacts, _ context: ChannelHandlerContext) {
    guard facts.method != .other, facts.expectation == .proceed, facts.contentLength ?? 0 <= loop.limits.bodyBytesMax
    else { return refuseBody(of: facts, context) }
    waiting.append(.proceed)
    work(context)
  }

  /// Answers without the body, or the rest of it; the connection ends with that.
  private func refuseBody(of facts: RequestFacts, _ context: ChannelHandlerContext) {
    head = nil
    if facts.method == .other || facts.expectation == .unknown {
      waiting.append(.request(facts.last, .now()))
    } else {
      waiting.append(.failure(status: 413, reason: "requests have no body here"))
    }
    work(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flush(context)
    context.fireChannelReadComplete()
  }

  /// Reads no more while too many requests wait: a client that does not take its answers must not fill our memory.
  func read(context: ChannelHandlerContext) {
    if waiting.count >= loop.limits.pipelinedCountMax || isEnding {
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

  /// Answers what waits until something has to be waited for.
  private func work(_ context: ChannelHandlerContext) {
    guard !isWorking else { return }
    isWorking = true
    while !isAnswering, !isEnding, context.channel.isWritable, let item = waiting.popFirst() {
      switch item {
      case .request(let facts, let start): answer(facts, start, context)
      case .proceed:
        write(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), nil, context, promise: nil)
        needsFlush = true
      case .failure(let status, let reason): fail(status, reason, context)
      }
    }
    isWorking = false
    if readIsHeldBack, !isEnding, waiting.count < loop.limits.pipelinedCountMax {
      readIsHeldBack = false
      context.read()
    }
  }

  private func answer(_ facts: RequestFacts, _ start: NIODeadline, _ context: ChannelHandlerContext) {
    isAnswering = true
    let circumstances = TileService.Circumstances(
      client: peerNumber, date: loop.date(), isTrusted: isTrusted, isDraining: loop.isDraining)
    switch service.plan(facts, circumstances) {
    case .reply(let reply): finish(reply, facts, start, context)
    case .work(let lane, let make):
      let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
      let eventLoop = context.eventLoop
      let service = service
      let accepted = service.shelf.work.submit(lane) {
        let reply = make()
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
      let exchange = TileService.Exchange(
        facts: facts, circumstances: circumstances,
        crossOriginFields: CrossOriginFields.fields(service.options.crossOrigin, facts),
        generation: service.shelf.generation)
      finish(
        exchange.writer(.other).failure(503, "too many requests wait for this tileset", fields: TileService.retry),
        facts,
        start, context)
    }
  }

  private func finish(_ reply: EncodedResponse, _ facts: RequestFacts, _ start: NIODeadline, _ context: ChannelHandlerContext) {
    isAnswering = false
    let time = record(reply.route, status: reply.status, bytes: reply.bodyCount, start)
    write(reply, context)
    loop.accessLog?.record(
      facts, reply, peer: service.addresses.client(facts, isTrusted: isTrusted) ?? peer, nanoseconds: time.nanoseconds)
  }

  /// Counts an answer.
  @discardableResult
  private func record(_ route: RouteName, status: Int, bytes: Int, _ start: NIODeadline) -> TimeAmount {
    let now = NIODeadline.now()
    if waiting.isEmpty, head == nil { idleSince = now }
    deadline = now + .seconds(Int64(loop.limits.idleSeconds))
    loop.shard.record(route, status: status, bytes: bytes, nanoseconds: UInt64((now - start).nanoseconds))
    return now - start
  }

  private func fail(_ status: Int, _ reason: String, _ context: ChannelHandlerContext) {
    let reply = ReplyWriter(
      request: .unreadable, route: .other, date: loop.date(),
      commonFields: CrossOriginFields.fields(service.options.crossOrigin, .unreadable), isDraining: true
    ).failure(status, reason, fields: status == 405 ? TileService.allow : "")
    loop.shard.record(.other, status: status, bytes: reply.bodyCount, nanoseconds: 0)
    loop.shard.dropped()
    write(reply, context)
  }

  private func write(_ reply: EncodedResponse, _ context: ChannelHandlerContext) {
    needsFlush = true
    // An answer that was begun before the drain does not say that it is the last.
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

  /// - Parameter promise: kept when all has been handed to the system.
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
