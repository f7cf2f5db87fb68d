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

  /// For small bodies, which are neither counted nor written in pieces.
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
  ///
  /// - Throws: ``Rejection`` 503 if there is no memory for it.
  static func shared(
    _ body: ReplyBody, type: String, etag: String, caching: String, for request: StoreRequest
  ) throws -> Response {
    let takesGzip = body.isWorthPacking && request.acceptsGzip
    var headers = sharedFields(etag, isPacked: takesGzip, caching: caching)
    if isKnown(headers, to: request) { return notModified(headers) }
    headers[.contentType] = type
    guard takesGzip, let packed = body.gzip() else {
      return Response(status: .ok, headers: headers, body: try request.sending(body, body.plain))
    }
    headers[.contentEncoding] = "gzip"
    return Response(status: .ok, headers: headers, body: try request.sending(body, packed))
  }

  /// 304 before the body is made; nil if the client does not have it, or only the body tells.
  static func knownShared(etag: String, caching: String, for request: StoreRequest) -> Response? {
    let headers = sharedFields(etag, isPacked: request.acceptsGzip, caching: caching)
    return isKnown(headers, to: request) ? notModified(headers) : nil
  }

  private static func sharedFields(_ etag: String, isPacked: Bool, caching: String) -> HTTPFields {
    // The compressed form is another representation, so it has another tag (RFC 9110, section 8.8.3.3).
    let tag = "\"\(etag)\(isPacked ? "-gzip" : "")\""
    return [.eTag: tag, .cacheControl: caching, .vary: "Accept-Encoding"]
  }

  /// If-None-Match turns only GET and HEAD into 304 (RFC 9110, section 13.1.2).
  private static func isKnown(_ headers: HTTPFields, to request: StoreRequest) -> Bool {
    request.route.method == .get && headers[.eTag].map { matches(request.field(.ifNoneMatch), $0) } ?? false
  }

  /// A body for one client.
  ///
  /// - Throws: ``Rejection`` 503 if there is no memory for it.
  static func body(
    _ body: ReplyBody, type: String = "application/json", caching: String, for request: StoreRequest
  ) throws -> Response {
    Response(
      status: .ok, headers: [.contentType: type, .cacheControl: caching], body: try request.sending(body, body.plain))
  }

  /// Whether `If-None-Match` names the tag; compared weakly.
  static func matches(_ field: String?, _ tag: String) -> Bool { field.map { EntityTagList.matches($0, tag) } ?? false }

  /// Whether `If-Match` names the tag; compared strongly: weak tags never match.
  static func matchesStrongly(_ field: String?, _ tag: String) -> Bool {
    field.map { EntityTagList.matchesStrongly($0, tag) } ?? false
  }
}
