import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import PurchaseLedger

/// An error response: the problem, and the fields that go with it.
///
/// Handlers throw a `Rejection`, or a plain `Problem` where nothing needs to be added.
struct Rejection: Error {
  var problem: Problem
  /// Seconds, for `Retry-After`.
  var retryAfter: Int?
  /// The region's or file's name, for the ledger's audit events; never a person's.
  var subject: String?
  /// The account that the audit event is about.
  var account: AccountID?
  /// Whether to close the connection instead of reading the rest of the request.
  var closesConnection = false
  /// Methods, for `Allow`.
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

  var response: Response {
    var headers: HTTPFields = [.contentType: Problem.contentType, .cacheControl: "no-store"]
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    if let allowed { headers[.allow] = allowed }
    if problem.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    if closesConnection { headers[.connection] = "close" }
    let bytes = (try? WireJSON.encode(problem)) ?? []
    return Response(
      status: HTTPResponse.Status(code: problem.status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

// MARK: - The problems that the service answers

extension Problem {
  static func badRequest(_ detail: String, remedy: String? = nil) -> Self {
    Self(.badRequest, title: "the request cannot be read", status: 400, detail: detail, remedy: remedy)
  }
  static let unauthorized = Self(
    .unauthorized, title: "there is no session", status: 401, remedy: "sign in and send the token as a bearer")
  static func wrongCredentials(status: Int) -> Self {
    Self(.wrongCredentials, title: "login or password is wrong", status: status)
  }
  static func notOwned(_ detail: String) -> Self {
    Self(.notOwned, title: "the account does not own this", status: 403, detail: detail)
  }
  static func linkRefused(_ detail: String, remedy: String? = nil) -> Self {
    Self(.linkRefused, title: "the link does not count", status: 403, detail: detail, remedy: remedy)
  }
  static let notFound = Self(.notFound, title: "there is nothing of this name", status: 404)
  static let noAppAtGoogle = Self(
    .notFound, title: "there is nothing of this name", status: 404,
    detail: "no app at Google is sold here", remedy: "the operator has to configure its package name")
  static func methodNotAllowed(_ allowed: String) -> Self {
    Self(.methodNotAllowed, title: "the path answers other methods", status: 405, remedy: "use \(allowed)")
  }
  static let loginTaken = Self(
    .loginTaken, title: "the login is taken", status: 409, remedy: "sign in, or choose another")
  static func editionGone(_ detail: String) -> Self {
    Self(.editionGone, title: "the catalogue has another edition", status: 409, detail: detail)
  }
  static let preconditionFailed = Self(
    .preconditionFailed, title: "the file is another one", status: 412, detail: "its ETag is none of If-Match")
  static let headTooLarge = Self(
    .headTooLarge, title: "the head is too large", status: 431, remedy: "send a shorter address, and fewer fields")

  static let noHTTP = Self(.badRequest, title: "the request is wrong", status: 400, detail: "it is no HTTP/1.1")

  static func tooLarge(_ bytesMax: Int) -> Self {
    Self(.tooLarge, title: "the body is too large", status: 413, detail: "at most \(bytesMax) bytes are taken")
  }
  static func unusableCredentials(_ error: LedgerError) -> Self {
    Self(
      .unusableCredentials, title: "login or password cannot be taken", status: 422,
      detail: "\(error.path ?? "") \(error.message)", remedy: error.remedy)
  }
  static func tooMany(_ detail: String, remedy: String? = nil) -> Self {
    Self(.tooMany, title: "too many requests", status: 429, detail: detail, remedy: remedy)
  }
  static let failed = Self(.failed, title: "the service failed", status: 500)
  static func unavailable(_ detail: String, remedy: String? = nil) -> Self {
    Self(.unavailable, title: "the service cannot answer now", status: 503, detail: detail, remedy: remedy)
  }
}

extension Problem.Kind {
  /// The last part of the URN; the label of metrics and audit events.
  var code: String { rawValue.split(separator: ":").last.map(String.init) ?? rawValue }
}
