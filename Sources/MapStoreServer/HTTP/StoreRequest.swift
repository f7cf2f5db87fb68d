import Accounts
import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import PurchaseLedger
import Support

/// Hummingbird's context of a request: the connection that it came on.
struct StoreContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other end of the connection: of the proxy, behind one.
  let peer: ClientAddress
  let channel: any Channel
  /// The client's network, by which limits count; set by ``StoreMiddleware``.
  var client = ""
  /// The path's parameters, percent-decoded, in order; set by ``StoreMiddleware``.
  var pathParameters: [String] = []

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
    peer = ClientAddress(source.channel.remoteAddress?.ipAddress ?? "local")
  }
}

/// A request whose route and session are known.
struct StoreRequest: Sendable {
  let route: StoreRoute
  /// The path's parameters, percent-decoded, in order.
  let parameters: [String]
  let query: Query
  /// The client's network, by which limits count.
  let address: String
  let request: Request
  let channel: any Channel
  /// Nil for requests without a session.
  let session: Session?
  /// The memory of the body, in use until the request is answered.
  let share: FairBudget.Share?
  /// Where answers are computed, and the memory of those that are sent.
  let capacity: StoreCapacity

  struct Session: Sendable {
    let token: SessionToken
    let account: AccountID
  }

  var isHead: Bool { request.method == .head }

  func field(_ name: HTTPField.Name) -> String? { request.headers[name] }

  var acceptsGzip: Bool { field(.acceptEncoding).map { AcceptEncoding.accepts("gzip", $0) } ?? false }

  /// The account of the session.
  ///
  /// - Throws: `Problem` 401.
  func account() throws(Problem) -> AccountID {
    guard let session else { throw .unauthorized }
    return session.account
  }

  /// Who is charged for the request.
  var holder: FairBudget.Holder { session.map { .account($0.account) } ?? .address(address) }

  /// Runs what takes more than a moment when it is the client's turn; the connection's event loop serves others
  /// meanwhile.
  ///
  /// - Throws: ``Rejection`` 503 if too much waits already, or what the work throws.
  func compute<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await capacity.turn(
      in: capacity.queue, of: route, network: address, account: session?.account, channel, work)
  }

  /// Reads the ledger: at once what is quick (``QuickReads``), all else when it is the client's turn. These turns are
  /// apart from those of ``compute(_:)``: none waits for a search.
  ///
  /// - Throws: ``Rejection`` 503 if too much waits already, or what the work throws.
  func read<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let account = session?.account
    return try await capacity.read(
      QuickReads.Kind(route: route, account: account), of: route, network: address, account: account, channel, work)
  }

  /// The body of a key, and its compressed form if the client accepts that: kept ones at once, others when it is the
  /// client's turn.
  func body<Key>(
    _ key: Key, in cache: ReplyCache<Key>, _ make: @escaping @Sendable () throws -> [UInt8]
  ) async throws -> ReplyBody {
    let packs = acceptsGzip
    if let known = cache.known(key), !packs || known.isPacked { return known }
    return try await compute {
      let body = try cache.body(for: key, make)
      if packs { _ = body.gzip() }
      return body
    }
  }

  /// Sends a form of a body. Large ones count while they are sent, and are written in pieces: a client that does not
  /// read holds one piece beside the body.
  ///
  /// - Throws: ``Rejection`` 503 if there is no memory.
  func sending(_ body: ReplyBody, _ form: ByteBuffer) throws -> ResponseBody {
    let count = form.readableBytes
    guard count > Self.pieceBytes, !isHead else { return ResponseBody(byteBuffer: form) }
    let share = body.share {
      let share = capacity.answers.share(of: holder)
      return share.take(count) ? share : nil
    }
    guard let share else {
      throw Rejection(
        .unavailable("too many answers are being read"), retryAfter: 5, account: session?.account)
    }
    return ResponseBody(contentLength: count) { [channel] writer in
      share.join(channel)
      defer { share.leave(channel) }
      var rest = form.readableBytesView
      while !rest.isEmpty {
        // A copy: the piece that waits in the connection does not keep the whole body.
        try await writer.write(ByteBuffer(bytes: rest.prefix(Self.pieceBytes)))
        rest = rest.dropFirst(Self.pieceBytes)
        share.move()
      }
      try await writer.finish(nil)
    }
  }

  private static let pieceBytes = 16 << 10

  /// The body.
  ///
  /// - Throws: ``Rejection`` 413 beyond `bytesMax`, 503 while other requests' bodies leave no room for it.
  func body(bytesMax: Int) async throws -> [UInt8] {
    let length = field(.contentLength).flatMap { Int($0) }
    // A body whose announced length is too large is not read at all.
    guard length ?? 0 <= bytesMax else { throw Rejection(.tooLarge(bytesMax), closesConnection: true) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length ?? 0)
    for try await part in request.body {
      guard bytes.count + part.readableBytes <= bytesMax else {
        throw Rejection(.tooLarge(bytesMax), closesConnection: true)
      }
      guard share?.take(part.readableBytes) ?? true else {
        throw Rejection(
          .unavailable("too many requests are being read"), retryAfter: 5, account: session?.account,
          closesConnection: true)
      }
      bytes.append(contentsOf: part.readableBytesView)
    }
    share?.keep()
    return bytes
  }

  /// The body as a message.
  ///
  /// - Throws: `Problem` 400 that says what is wrong with it.
  func message<Message: Decodable & Sendable>(_ type: Message.Type, bytesMax: Int) async throws -> Message {
    let bytes = try await body(bytesMax: bytesMax)
    @Sendable func decoded() throws -> Message {
      do { return try WireJSON.decode(type, from: bytes) } catch { throw Problem.badRequest("\(error)") }
    }
    return bytes.count > Self.pieceBytes ? try await compute(decoded) : try decoded()
  }
}

/// What requests share: the turns of what computes, and memory.
struct StoreCapacity: Sendable {
  let queue: FairQueue
  /// The turns of what reads the ledger.
  let reads: FairQueue
  private let quick: QuickReads
  let bodies: BodyBudgets
  let answers: FairBudget
  let connections: FairBudget

  private static let notifications = FairQueue.Lane("notifications")
  private static let accounts = FairQueue.Lane("accounts")
  private static let everybody = FairQueue.Lane("everybody")

  init(_ limits: StoreLimits) {
    func queue(runningMax: Int) -> FairQueue {
      FairQueue(
        runningMax: runningMax, waitingMax: limits.computations, waitingMaxOfNetwork: limits.computationsByAddress)
    }
    self.queue = queue(runningMax: max(1, Processors.count / 2))
    // One that waits for the disk does not keep the others.
    reads = queue(runningMax: max(2, Processors.count / 2))
    quick = QuickReads(secondsMax: limits.quickReadSeconds)
    bodies = BodyBudgets(limits)
    answers = .answers(limits)
    connections = .connections(limits)
  }

  /// Notifications of the app stores, and what needs a session, have turns that the catalogue's visitors never take.
  func lane(of route: StoreRoute) -> FairQueue.Lane {
    if route.isNotification { return Self.notifications }
    return route.access == .session ? Self.accounts : Self.everybody
  }

  /// Reads the ledger: a quick read here, another when it is the client's turn.
  ///
  /// - Throws: ``Rejection`` 503 if too much waits already, or what the work throws.
  func read<Value: Sendable>(
    _ kind: QuickReads.Kind, of route: StoreRoute, network: String, account: AccountID?, _ channel: any Channel,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    if quick.contains(kind) { return try quick.timing(kind, work) }
    return try await turn(in: reads, of: route, network: network, account: account, channel) { [quick] in
      try quick.timing(kind, work)
    }
  }

  /// Runs work when it is the client's turn.
  ///
  /// - Throws: ``Rejection`` 503 if too much waits already, or what the work throws.
  func turn<Value: Sendable>(
    in queue: FairQueue, of route: StoreRoute, network: String, account: AccountID?, _ channel: any Channel,
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let client = FairQueue.Client(lane(of: route), network: network, account: account?.description ?? "")
    do {
      return try await queue.run(for: client) {
        // Nobody reads the answer.
        guard channel.isActive else { throw ChannelError.alreadyClosed }
        return try await work()
      }
    } catch is FairQueue.Full {
      throw Rejection(.unavailable("too many requests are waiting"), retryAfter: 1, account: account)
    }
  }

  /// The memory for a request's body.
  func bodies(of route: StoreRoute) -> FairBudget {
    if route.isNotification { return bodies.notifications }
    return [.purchases, .libraryOfDevice].contains(route) ? bodies.large : bodies.small
  }
}

extension StoreRoute {
  /// Whether the app stores' servers send it.
  var isNotification: Bool { path.hasPrefix("/v1/notifications/") }
}
