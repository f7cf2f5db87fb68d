import NIOCore
import TileIndex

/// Writes responses (RFC 9112, section 4) into buffers, without the detour over a list of header fields.
struct ReplyWriter {
  let request: RequestFacts
  let route: RouteName
  /// The moment of the answer, as `Date` wants it.
  let date: String
  /// Fields that every response has, such as those of CORS; each ends with CRLF.
  let commonFields: String
  /// True when the server is about to end.
  let isDraining: Bool

  /// Whether the connection ends after this answer.
  private var closes: Bool { !request.isKeepAlive || isDraining }

  /// A whole response.
  ///
  /// - Parameters:
  ///   - fields: lines that end with CRLF, but Date, Content-Length and Connection.
  ///   - body: left out of the answer to HEAD, but counted.
  func reply(
    _ status: Int, fields: String, body: UnsafeRawBufferPointer, closing: Bool = false
  ) -> Reply {
    let hasBody = request.method != .head && status != 304 && status != 204
    var buffer = ByteBufferAllocator().buffer(capacity: 384 + fields.utf8.count + (hasBody ? body.count : 0))
    let ends = closes || closing
    buffer.writeStaticString("HTTP/1.1 ")
    buffer.writeString(Self.statusLine(status))
    buffer.writeStaticString("\r\nDate: ")
    buffer.writeString(date)
    buffer.writeStaticString("\r\n")
    buffer.writeString(fields)
    buffer.writeString(commonFields)
    if status != 304, status != 204 {
      buffer.writeStaticString("Content-Length: ")
      buffer.writeString(String(body.count))
      buffer.writeStaticString("\r\n")
    }
    if ends {
      buffer.writeStaticString("Connection: close\r\n")
    } else if request.minorVersion == 0 {
      buffer.writeStaticString("Connection: keep-alive\r\n")
    }
    buffer.writeStaticString("\r\n")
    if hasBody { buffer.writeBytes(body) }
    return Reply(
      status: status, bytes: buffer, bodyCount: hasBody ? body.count : 0, closes: ends, route: route)
  }

  /// A response of text, JSON, HTML or XML, with an entity tag of its bytes where it is a success.
  func document(
    _ bytes: [UInt8], status: Int = 200, mediaType: String, fields: String = "", caching: String = "no-cache"
  ) -> Reply {
    bytes.withUnsafeBytes { raw in
      var fields = "Content-Type: \(mediaType)\r\nCache-Control: \(caching)\r\n\(fields)"
      guard status == 200 else { return reply(status, fields: fields, body: raw) }
      let tag = EntityTag.text(hash: ContentHash.hash(raw))
      fields += "ETag: \(tag)\r\n"
      if let wanted = request.ifNoneMatch, EntityTag.isNamed(tag, in: wanted) {
        return reply(304, fields: fields, body: UnsafeRawBufferPointer(start: nil, count: 0))
      }
      return reply(200, fields: fields, body: raw)
    }
  }

  /// A failure: one line of text that says why.
  func failure(_ status: Int, _ reason: String, fields: String = "", caching: String = "no-store") -> Reply {
    document(
      Array("\(reason)\n".utf8), status: status, mediaType: "text/plain; charset=utf-8", fields: fields,
      caching: caching)
  }

  /// The status with its usual reason phrase.
  private static func statusLine(_ status: Int) -> String {
    switch status {
    case 200: "200 OK"
    case 204: "204 No Content"
    case 301: "301 Moved Permanently"
    case 304: "304 Not Modified"
    case 400: "400 Bad Request"
    case 404: "404 Not Found"
    case 405: "405 Method Not Allowed"
    case 408: "408 Request Timeout"
    case 413: "413 Content Too Large"
    case 414: "414 URI Too Long"
    case 421: "421 Misdirected Request"
    case 431: "431 Request Header Fields Too Large"
    case 500: "500 Internal Server Error"
    case 501: "501 Not Implemented"
    case 503: "503 Service Unavailable"
    default: "\(status) Unknown"
    }
  }
}
