import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import Support

/// Makes responses.
enum Reply {
  static func message(
    _ message: some Encodable, status: HTTPResponse.Status = .ok, caching: String = "no-store"
  ) throws -> Response {
    json(try WireJSON.encode(message), status: status, caching: caching)
  }

  static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok, caching: String = "no-store") -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: caching],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  static let noContent = Response(status: .noContent, headers: [.cacheControl: "no-store"])

  static func text(_ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8")
    -> Response
  {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  /// A body that many get alike: 304 where the client has it, compressed where it takes that.
  static func shared(
    _ body: ReplyBody, type: String, etag: String, caching: String, for request: StoreRequest
  ) -> Response {
    let takesGzip = body.isWorthPacking && acceptsGzip(request.field(.acceptEncoding))
    // The compressed form is another representation, so it has another tag (RFC 9110, section 8.8.3.3).
    let tag = "\"\(etag)\(takesGzip ? "-gzip" : "")\""
    var headers: HTTPFields = [.eTag: tag, .cacheControl: caching, .vary: "Accept-Encoding"]
    // A POST is not answered from what its client has (RFC 9110, section 13.1.2).
    if request.route.method == .get, matches(request.field(.ifNoneMatch), tag) {
      return Response(status: .notModified, headers: headers)
    }
    headers[.contentType] = type
    guard takesGzip, let packed = body.gzip() else {
      return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body.plain))
    }
    headers[.contentEncoding] = "gzip"
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: packed))
  }

  /// Whether a list of entity tags has this one; weakly compared, as `If-None-Match` is.
  static func matches(_ field: String?, _ tag: String) -> Bool { field.map { EntityTagList.matches($0, tag) } ?? false }

  /// The same for `If-Match`: what is weak is never the same bytes.
  static func matchesStrongly(_ field: String?, _ tag: String) -> Bool {
    field.map { EntityTagList.matchesStrongly($0, tag) } ?? false
  }

  static func acceptsGzip(_ field: String?) -> Bool { field.map { AcceptEncoding.accepts("gzip", $0) } ?? false }

  static func problem(_ rejection: Rejection) -> Response {
    let problem = rejection.problem
    var headers: HTTPFields = [.contentType: Problem.contentType, .cacheControl: "no-store"]
    if let seconds = rejection.retryAfter { headers[.retryAfter] = String(seconds) }
    if let allowed = rejection.allowed { headers[.allow] = allowed }
    if problem.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    if rejection.closesConnection { headers[.connection] = "close" }
    let bytes = (try? WireJSON.encode(problem)) ?? []
    return Response(
      status: HTTPResponse.Status(code: problem.status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
