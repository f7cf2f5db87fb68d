import HTTPTypes
import Hummingbird
import MapStoreWire
import NIOCore
import Support

/// Makes responses of success. Errors are ``Rejection``s.
enum Reply {
  static func message(
    _ message: some Encodable, status: HTTPResponse.Status = .ok, caching: String = "no-store"
  ) throws -> Response {
    bytes(
      ByteBuffer(bytes: try WireJSON.encode(message)), status: status, type: "application/json",
      headers: [.cacheControl: caching])
  }

  static let noContent = Response(status: .noContent, headers: [.cacheControl: "no-store"])

  static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Response {
    bytes(ByteBuffer(string: text), type: type, headers: [.cacheControl: "no-store"])
  }

  static func bytes(
    _ bytes: ByteBuffer, status: HTTPResponse.Status = .ok, type: String, headers: HTTPFields
  ) -> Response {
    var headers = headers
    headers[.contentType] = type
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
  }

  /// - Parameter headers: with the entity tag.
  static func notModified(_ headers: HTTPFields) -> Response { Response(status: .notModified, headers: headers) }

  /// A body that is the same for many clients: 304 if the client has it, compressed if the client accepts gzip.
  static func shared(
    _ body: ReplyBody, type: String, etag: String, caching: String, for request: StoreRequest
  ) -> Response {
    let takesGzip = body.isWorthPacking && acceptsGzip(request.field(.acceptEncoding))
    // The compressed form is another representation, so it has another tag (RFC 9110, section 8.8.3.3).
    let tag = "\"\(etag)\(takesGzip ? "-gzip" : "")\""
    var headers: HTTPFields = [.eTag: tag, .cacheControl: caching, .vary: "Accept-Encoding"]
    // If-None-Match turns only GET and HEAD into 304 (RFC 9110, section 13.1.2).
    if request.route.method == .get, matches(request.field(.ifNoneMatch), tag) { return notModified(headers) }
    guard takesGzip, let packed = body.gzip() else { return bytes(body.plain, type: type, headers: headers) }
    headers[.contentEncoding] = "gzip"
    return bytes(packed, type: type, headers: headers)
  }

  /// Whether `If-None-Match` names the tag; compared weakly.
  static func matches(_ field: String?, _ tag: String) -> Bool { field.map { EntityTagList.matches($0, tag) } ?? false }

  /// Whether `If-Match` names the tag; compared strongly: weak tags never match.
  static func matchesStrongly(_ field: String?, _ tag: String) -> Bool {
    field.map { EntityTagList.matchesStrongly($0, tag) } ?? false
  }

  static func acceptsGzip(_ field: String?) -> Bool { field.map { AcceptEncoding.accepts("gzip", $0) } ?? false }
}
