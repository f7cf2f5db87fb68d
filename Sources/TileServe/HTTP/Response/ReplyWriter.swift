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

  /// Where the date begins in a response of status 200.
  static let datePlace = statusLine(200).utf8.count + dateName.utf8.count
  private static let dateName = "Date: "

  /// A whole response.
  ///
  /// - Parameters:
  ///   - fields: lines that end with CRLF, but Date, ETag, Content-Length and Connection.
  ///   - tag: the entity tag.
  ///   - body: left out of the answer to HEAD, but counted.
  func reply(
    _ status: Int, fields: String, tag: EntityTag? = nil, body: UnsafeRawBufferPointer = .empty, closing: Bool = false
  ) -> Reply {
    let hasBody = request.method != .head && status != 304 && status != 204
    let ends = !request.isKeepAlive || isDraining || closing
    let bodyCount = hasBody ? body.count : 0
    // More than the fixed parts ever take.
    let headCountMax = 256 + fields.utf8.count + commonFields.utf8.count
    var buffer = ByteBufferAllocator().buffer(capacity: headCountMax + bodyCount)
    // One check of the buffer for the whole response, instead of one for each of a dozen pieces.
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: headCountMax + bodyCount) { bytes in
      var pen = BytePen(bytes)
      pen.write(Self.statusLine(status))
      pen.write(Self.dateName)
      pen.write(date)
      pen.write("\r\n")
      pen.write(fields)
      pen.write(commonFields)
      if let tag {
        pen.write("ETag: ")
        pen.write(tag)
        pen.write("\r\n")
      }
      if status != 304, status != 204 {
        pen.write("Content-Length: ")
        pen.write(decimal: body.count)
        pen.write("\r\n")
      }
      if ends {
        pen.write("Connection: close\r\n")
      } else if request.minorVersion == 0 {
        pen.write("Connection: keep-alive\r\n")
      }
      pen.write("\r\n")
      if hasBody { pen.write(body) }
      return pen.count
    }
    return Reply(status: status, bytes: buffer, bodyCount: bodyCount, closes: ends, route: route)
  }

  /// A response of text, JSON, HTML or XML, with an entity tag of its bytes where it is a success.
  func document(
    _ bytes: [UInt8], status: Int = 200, mediaType: String, fields: String = "", caching: String = "no-cache"
  ) -> Reply {
    bytes.withUnsafeBytes { raw in
      let fields =
        "Content-Type: \(mediaType)\r\nCache-Control: \(caching)\r\nX-Content-Type-Options: nosniff\r\n\(fields)"
      guard status == 200 else { return reply(status, fields: fields, body: raw) }
      let tag = EntityTag(hash: ContentHash.hash(raw))
      if let wanted = request.ifNoneMatch, tag.isNamed(in: wanted) { return reply(304, fields: fields, tag: tag) }
      return reply(200, fields: fields, tag: tag, body: raw)
    }
  }

  /// A failure: one line of text that says why.
  func failure(_ status: Int, _ reason: String, fields: String = "", caching: String = "no-store") -> Reply {
    document(
      Array("\(reason)\n".utf8), status: status, mediaType: "text/plain; charset=utf-8", fields: fields,
      caching: caching)
  }

  /// The first line, with the status's usual reason phrase.
  private static func statusLine(_ status: Int) -> String {
    switch status {
    case 200: "HTTP/1.1 200 OK\r\n"
    case 204: "HTTP/1.1 204 No Content\r\n"
    case 304: "HTTP/1.1 304 Not Modified\r\n"
    case 400: "HTTP/1.1 400 Bad Request\r\n"
    case 404: "HTTP/1.1 404 Not Found\r\n"
    case 405: "HTTP/1.1 405 Method Not Allowed\r\n"
    case 413: "HTTP/1.1 413 Content Too Large\r\n"
    case 414: "HTTP/1.1 414 URI Too Long\r\n"
    case 417: "HTTP/1.1 417 Expectation Failed\r\n"
    case 421: "HTTP/1.1 421 Misdirected Request\r\n"
    case 431: "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    case 500: "HTTP/1.1 500 Internal Server Error\r\n"
    case 501: "HTTP/1.1 501 Not Implemented\r\n"
    case 503: "HTTP/1.1 503 Service Unavailable\r\n"
    default: "HTTP/1.1 \(status) \r\n"
    }
  }
}

extension UnsafeRawBufferPointer {
  /// No bytes.
  static var empty: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}
