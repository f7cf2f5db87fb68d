import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import PurchaseLedger

/// A request that found its route.
struct StoreRequest: Sendable {
  let route: StoreRoute
  /// What stands in place of the path's parameters, decoded.
  let parameters: [String]
  let query: Query
  /// Whoever asks, as far as proxies are believed.
  let address: String
  let request: Request
  let channel: any Channel
  /// The session that came with it, if it is one.
  let session: Session?
  /// The memory of its body; it lasts until the request is answered.
  let share: BodyBudget.Share?

  struct Session: Sendable {
    let token: SessionToken
    let account: AccountID
  }

  func field(_ name: HTTPField.Name) -> String? { request.headers[name] }

  /// Whose session it is.
  ///
  /// - Throws: `Problem` 401.
  func account() throws(Problem) -> AccountID {
    guard let session else { throw .unauthorized }
    return session.account
  }

  /// The body.
  ///
  /// - Throws: ``Rejection`` 413 beyond `bytesMax`, 503 while there is no room for it among those of others.
  func body(bytesMax: Int) async throws -> [UInt8] {
    let length = field(.contentLength).flatMap { Int($0) }
    // What is announced as too large is not read at all.
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
  /// - Throws: `Problem` 400 that says where it is none.
  func message<Message: Decodable>(_ type: Message.Type, bytesMax: Int) async throws -> Message {
    let bytes = try await body(bytesMax: bytesMax)
    do { return try WireJSON.decode(type, from: bytes) } catch { throw Problem.badRequest("\(error)") }
  }
}

/// A problem with what belongs to its answer.
struct Rejection: Error {
  var problem: Problem
  /// Seconds.
  var retryAfter: Int?
  /// What it was about, for the ledger: a region's or file's name, never a person's.
  var subject: String?
  var account: AccountID?
  /// Rest of the request is not worth reading.
  var closesConnection = false
  /// Methods, for 405.
  var allowed: String?

  init(
    _ problem: Problem, retryAfter: Int? = nil, subject: String? = nil, account: AccountID? = nil,
    closesConnection: Bool = false, allowed: String? = nil
  ) {
    self.problem = problem
    self.retryAfter = retryAfter
    self.subject = subject
    self.account = account
    self.closesConnection = closesConnection
    self.allowed = allowed
  }
}
