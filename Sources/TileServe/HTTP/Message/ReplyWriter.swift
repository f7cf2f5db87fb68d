import NIOCore
import TileIndex

/// A whole response, ready to be written.
struct EncodedResponse: Sendable {
  var status: Int
  /// The head, and the body unless that is separate.
  var bytes: ByteBuffer
  /// A separate body in shared memory.
  var body: ByteBuffer?
  /// Bytes of the body, for logs.
  var bodyCount: Int
  /// True if the connection is closed after it.
  var closes: Bool
  var route: RouteName
}

/// The kind of resource, a label of the metrics.
enum RouteName: Int, CaseIterable, Sendable {
  case tile, tilejson, viewer, tilesets, index, health, ready, metrics, asset, wmts, tms, places, other

  /// Counts from 0.
  var index: Int { rawValue }
}

/// Writes responses (RFC 9112, section 4) directly into buffers, without a list of header fields.
struct ReplyWriter {
  let request: RequestFacts
  let route: RouteName
  /// The value of the Date field.
  let date: String
  /// Fields that other origins' pages need to read the response; each ends with CRLF.
  let commonFields: String
  /// True while the server shuts down.
  let isDraining: Bool

  /// The offset of the date in a response with status 200.
  static let datePlace = statusLine(200).utf8.count + dateName.utf8.count
  private static let dateName = "Date: "

  /// A whole response.
  ///
  /// - Parameters:
  ///   - fields: lines that end with CRLF, without Date, ETag, Content-Length and Connection.
  ///   - tag: the entity tag.
  ///   - body: omitted in the response to HEAD, but its length is sent.
  func reply(
    _ status: Int, fields: String, tag: EntityTag? = nil, body: UnsafeRawBufferPointer = .empty, closing: Bool = false
  ) -> EncodedResponse {
    let hasBody = request.method != .head && status != 304 && status != 204
    let ends = !request.isKeepAlive || isDraining || closing
    let bodyCount = hasBody ? body.count : 0
    // More than the fixed parts ever take.
    let headCountMax = 256 + fields.utf8.count + commonFields.utf8.count
    var buffer = ByteBufferAllocator().buffer(capacity: headCountMax + bodyCount)
    // One capacity check for the whole response instead of one for each piece.
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: headCountMax + bodyCount) { bytes in
      var writer = ByteWriter(bytes)
      writer.write(Self.statusLine(status))
      writer.write(Self.dateName)
      writer.write(date)
      writer.write("\r\n")
      writer.write(fields)
      writer.write(commonFields)
      if let tag {
        writer.write("ETag: ")
        writer.write(tag)
        writer.write("\r\n")
      }
      if status != 304, status != 204 {
        writer.write("Content-Length: ")
        writer.write(decimal: body.count)
        writer.write("\r\n")
      }
      if ends {
        writer.write("Connection: close\r\n")
      } else if request.minorVersion == 0 {
        writer.write("Connection: keep-alive\r\n")
      }
      writer.write("\r\n")
      if hasBody { writer.write(body) }
      return writer.count
    }
    return EncodedResponse(status: status, bytes: buffer, bodyCount: bodyCount, closes: ends, route: route)
  }

  /// A response of text, JSON, HTML or XML; with an entity tag if the status is 200.
  func document(
    _ bytes: [UInt8], status: Int = 200, mediaType: String, fields: String = "", caching: String = "no-cache"
  ) -> EncodedResponse {
    bytes.withUnsafeBytes { raw in
      let fields =
        "Content-Type: \(mediaType)\r\nCache-Control: \(caching)\r\nX-Content-Type-Options: nosniff\r\n\(fields)"
      guard status == 200 else { return reply(status, fields: fields, body: raw) }
      let tag = EntityTag(hash: ContentHash.hash(raw))
      if let wanted = request.ifNoneMatch, tag.isNamed(in: wanted) { return reply(304, fields: fields, tag: tag) }
      return reply(200, fields: fields, tag: tag, body: raw)
    }
  }

  /// An error response with one line of text.
  func failure(_ status: Int, _ reason: String, fields: String = "", caching: String = "no-store") -> EncodedResponse {
    document(
      Array("\(reason)\n".utf8), status: status, mediaType: "text/plain; charset=utf-8", fields: fields,
      caching: caching)
  }

  /// The status line with the standard reason phrase.
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

/// Writes into memory that is large enough; a piece that does not fit is a programming error.
struct ByteWriter {
  private let bytes: UnsafeMutableRawBufferPointer
  /// Bytes written so far.
  private(set) var count = 0

  init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

  mutating func write(_ piece: UnsafeRawBufferPointer) {
    guard let from = piece.baseAddress, !piece.isEmpty else { return }
    precondition(count + piece.count <= bytes.count, "a response is longer than was reckoned")
    (bytes.baseAddress! + count).copyMemory(from: from, byteCount: piece.count)
    count += piece.count
  }

  mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }

  mutating func write(_ tag: EntityTag) {
    tag.withBytes { write($0) }
  }

  /// A number from 0 up.
  mutating func write(decimal number: Int) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var first = 20
      var rest = number
      repeat {
        first -= 1
        digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: digits[first..<20])))
    }
  }
}
