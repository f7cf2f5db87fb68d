import LibC
import NIOCore
import Support

/// The fast path: what exists only to answer repeated requests for stored tiles with less processor time. `"fastPath":
/// "off"` leaves it out; then NIO's parser reads every request, ``TileService`` answers it and the channel's pipeline
/// writes the response. The bytes of the responses are the same.
///
/// 1. ``RequestMemory`` recognises a request that repeats the connection's last one except for the target.
/// 2. ``ResponseCache`` has the whole response to this target; only the date is filled in.
/// 3. ``DirectSocket`` writes it past the pipeline; large bodies that are asked for often lie in
///    ``SharedPages``, which are not copied.
///
/// Other requests are read by ``PlainRequest`` if they have the usual form, otherwise by NIO's parser, and answered by
/// ``TileService``. ``Connection/keep(_:of:for:generation:)`` stores such a response for step 2. Its bytes are a copy
/// that was checked when it was read, so that no change of the bundle's file reaches a client through it.
///
/// Only this file is used from outside the folder: ``ConnectionHandler`` calls ``Connection``, the server creates the
/// rest.
final class FastPath: Sendable {
  fileprivate let replies: ResponseCache

  /// - Parameter byteCountMax: the memory budget of the response cache; 0 stores nothing.
  init(byteCountMax: Int) { replies = ResponseCache(byteCountMax: byteCountMax) }

  /// Bytes that the response cache takes.
  var byteCount: Int { replies.byteCount }

  /// Sets another budget for the response cache, and drops what exceeds it.
  func resize(to byteCountMax: Int) { replies.resize(to: byteCountMax) }

  /// Sets up a listener that only programs on this machine reach.
  static func setUp(localListener pipeline: ChannelPipeline.SynchronousOperations) {
    DirectSocket(pipeline)?.sparePacing()
  }

  /// What the connections of one event loop share. Used on that loop only.
  final class Loop {
    fileprivate let replies: ResponseCache
    fileprivate let pipe = PagePipe()

    init(_ fastPath: FastPath) { replies = fastPath.replies }
  }

  /// The fast path of one connection. Used on its event loop only.
  final class Connection {
    /// A response that was ready.
    struct Answer {
      /// When the request was taken up.
      let start: NIODeadline
      let route: RouteName
      let bodyCount: Int
      /// Bytes of the request.
      let requestCount: Int
      let rest: Rest
    }

    /// The rest of a response, for the pipeline to write.
    enum Rest {
      case nothing
      case bytes(ByteBuffer, ByteBuffer?)
      /// The connection failed halfway, and has to be closed.
      case broken
    }

    private let loop: Loop
    private let service: TileService
    private let limits: ConnectionLimits
    private let isTrusted: Bool
    private let socket: DirectSocket?
    private var memory = RequestMemory()

    /// - Parameter isTrusted: true for peers whose X-Forwarded fields are trusted.
    init(
      _ loop: Loop, _ service: TileService, _ limits: ConnectionLimits, isTrusted: Bool,
      _ pipeline: ChannelPipeline.SynchronousOperations
    ) {
      self.loop = loop
      self.service = service
      self.limits = limits
      self.isTrusted = isTrusted
      // Encrypted bytes have to go through the pipeline.
      socket = service.options.tls == nil ? DirectSocket(pipeline) : nil
    }

    /// Answers the request at the beginning of a buffer if it repeats the last one except for its target, and the
    /// response is ready.
    ///
    /// - Parameters:
    ///   - mayBypassPipeline: false while the pipeline still has bytes to write.
    ///   - date: the value of the Date field.
    /// - Returns: nil when the request must be read in the ordinary way.
    func answer(_ buffer: ByteBuffer, mayBypassPipeline: Bool, date: () -> [UInt8]) -> Answer? {
      buffer.withUnsafeReadableBytes { bytes in
        guard let target = memory.target(bytes) else { return nil }
        let start = NIODeadline.now()
        guard
          let reply = loop.replies.reply(
            UnsafeRawBufferPointer(rebasing: bytes[target]), generation: service.registry.generation),
          !reply.isGzipped || memory.acceptsGzip
        else { return nil }
        let count = memory.byteCount(target)
        // If more requests have arrived their responses leave together.
        let socket = mayBypassPipeline && count == bytes.count ? socket : nil
        return Answer(
          start: start, route: reply.route, bodyCount: reply.bodyCount, requestCount: count,
          rest: send(reply, through: socket, date()))
      }
    }

    private func send(_ reply: CachedResponse, through socket: DirectSocket?, _ date: [UInt8]) -> Rest {
      var sent = 0
      if let socket {
        guard let taken = reply.withParts(date, { socket.send($0, $1, through: loop.pipe) }) else { return .broken }
        sent = taken
      }
      guard sent < reply.responseCount else { return .nothing }
      let (first, second) = reply.rest(after: sent, date)
      return .bytes(first, second)
    }

    /// Reads the request at the beginning of a buffer.
    ///
    /// - Returns: nil when NIO's parser has to read it, and all that follows.
    func request(_ buffer: ByteBuffer) -> (facts: RequestFacts, byteCount: Int)? {
      guard let request = PlainRequest(buffer, limits) else { return nil }
      let facts = RequestFacts(
        plainTarget: request.target, fields: request.fields, hasConditions: request.hasConditions)
      if takesReadyReplies(facts) {
        memory.remember(request, in: buffer, acceptsGzip: facts.acceptsGzip)
      } else {
        memory.forget()
      }
      return (facts, request.byteCount)
    }

    /// Stores the response to a request for a stored tile, for later equal requests.
    ///
    /// - Parameter generation: of the registry's contents, before the response was made.
    func keep(_ reply: EncodedResponse, of served: ServedTileset, for facts: RequestFacts, generation: Int) {
      guard reply.status == 200, !reply.closes, facts.isPlain, takesReadyReplies(facts) else { return }
      let packing = reply.bytes.withUnsafeReadableBytes { bytes in
        Gunzip.packing(UnsafeRawBufferPointer(rebasing: bytes.suffix(reply.bodyCount)))
      }
      // A connection remembers only whether its client takes gzip; the other coding is rare.
      guard packing != .deflate else { return }
      let target = Array(facts.target.utf8)
      guard loop.replies.wants(target, byteCount: reply.bytes.storageCapacity) else { return }
      loop.replies.keep(
        CachedResponse(reply, of: served, target: target, generation: generation, isGzipped: packing == .gzip))
    }

    /// True when the fields of a request do not change the answer for a stored tile, except for gzip.
    private func takesReadyReplies(_ facts: RequestFacts) -> Bool {
      if case .origins = service.options.crossOrigin { return false }
      return !facts.hasConditions && facts.hostFault == nil && service.addresses.isAllowed(facts, isTrusted: isTrusted)
    }
  }
}
