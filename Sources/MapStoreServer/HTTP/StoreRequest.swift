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
  /// The memory of the body, reserved until the request is answered.
  let share: BodyBudget.Share?

  struct Session: Sendable {
    let token: SessionToken
    let account: AccountID
  }

  var isHead: Bool { request.method == .head }

  func field(_ name: HTTPField.Name) -> String? { request.headers[name] }

  /// The account of the session.
  ///
  /// - Throws: `Problem` 401.
  func account() throws(Problem) -> AccountID {
    guard let session else { throw .unauthorized }
    return session.account
  }

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
    return bytes
  }

  /// The body as a message.
  ///
  /// - Throws: `Problem` 400 that says what is wrong with it.
  func message<Message: Decodable>(_ type: Message.Type, bytesMax: Int) async throws -> Message {
    let bytes = try await body(bytesMax: bytesMax)
    do { return try WireJSON.decode(type, from: bytes) } catch { throw Problem.badRequest("\(error)") }
  }
}
