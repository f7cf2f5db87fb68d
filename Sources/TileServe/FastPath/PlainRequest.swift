import LibC
import NIOCore

/// A request of the form that nearly all have: GET, an absolute path, HTTP/1.1, completely received, with no fields
/// that affect the connection or the framing of messages. Browsers say `Connection: keep-alive`, which changes nothing.
///
/// NIO's parser took a seventh of the processor time of a small tile (`perf`). Any request that is not exactly of this
/// form is left to that parser: this reader never guesses and never rejects.
struct PlainRequest {
  /// The request target: a path, and a query perhaps.
  let target: String
  let fields: RawFields
  /// True if it has If-None-Match or If-Modified-Since.
  let hasConditions: Bool
  /// The bytes that it takes.
  let byteCount: Int

  /// Nil when the first request in the buffer is not plain, not whole, or larger than the limits.
  ///
  /// - Complexity: O(bytes of the request).
  init?(_ buffer: ByteBuffer, _ limits: ConnectionLimits) {
    let read = buffer.withUnsafeReadableBytes { Self.read($0, limits) }
    guard let read, let lines = buffer.getSlice(at: buffer.readerIndex + read.fieldsStart, length: read.fieldsCount)
    else { return nil }
    target = read.target
    fields = RawFields(lines: lines)
    hasConditions = read.hasConditions
    byteCount = read.fieldsStart + read.fieldsCount + 2
  }

  private struct Read {
    var target: String
    var fieldsStart: Int
    var fieldsCount: Int
    var hasConditions: Bool
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, _ limits: ConnectionLimits) -> Read? {
    // GET SP target SP HTTP/1.1 CRLF
    guard bytes.count > 18, bytes.starts(with: "GET /".utf8) else { return nil }
    var at = 4
    while at < bytes.count, bytes[at] > 0x20, bytes[at] < 0x7f { at &+= 1 }
    let target = bytes[4..<at]
    guard target.count <= 4096, at + 11 <= bytes.count, bytes[at..<(at + 11)].elementsEqual(" HTTP/1.1\r\n".utf8) else {
      return nil
    }
    at += 11
    let start = at
    var count = 0
    var hosts = 0
    var hasConditions = false
    while true {
      guard at + 1 < bytes.count else { return nil }
      if bytes[at] == UInt8(ascii: "\r") {
        guard bytes[at + 1] == UInt8(ascii: "\n"), hosts == 1, at - start <= limits.headerBytesMax else { return nil }
        return Read(
          target: String(decoding: target, as: UTF8.self), fieldsStart: start, fieldsCount: at - start,
          hasConditions: hasConditions)
      }
      let name = at
      while at < bytes.count, RawFields.isTokenByte(bytes[at]) { at &+= 1 }
      guard at > name, at < bytes.count, bytes[at] == UInt8(ascii: ":") else { return nil }
      let kind = kind(UnsafeRawBufferPointer(rebasing: bytes[name..<at]))
      switch kind {
      case .other, .connection: break
      case .host: hosts += 1
      case .condition: hasConditions = true
      case .framing: return nil
      }
      at &+= 1
      let value = at
      while at < bytes.count, bytes[at] >= 0x20 && bytes[at] != 0x7f || bytes[at] == 0x09 { at &+= 1 }
      if kind == .connection, !isKeepAlive(bytes[value..<at]) { return nil }
      guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\r"), bytes[at + 1] == UInt8(ascii: "\n") else {
        return nil
      }
      at += 2
      count += 1
      guard count <= limits.headerCountMax else { return nil }
    }
  }

  private enum Kind { case other, host, condition, connection, framing }

  private static func isKeepAlive(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
    value.drop { $0 == 0x20 }.elementsEqual("keep-alive".utf8) { $0 | 0x20 == $1 }
  }

  /// What a field means for this reader. Requests with fields that affect framing or the connection are left to NIO's
  /// parser.
  private static func kind(_ name: UnsafeRawBufferPointer) -> Kind {
    func isNamed(_ wanted: StaticString) -> Bool {
      wanted.withUTF8Buffer { wanted in zip(name, wanted).allSatisfy { $0 | 0x20 == $1 } }
    }
    switch name.count {
    case 2 where isNamed("te"): return .framing
    case 4 where isNamed("host"): return .host
    case 6 where isNamed("expect"): return .framing
    case 7 where isNamed("upgrade") || isNamed("trailer"): return .framing
    case 10 where isNamed("connection"): return .connection
    case 10 where isNamed("keep-alive"): return .framing
    case 13 where isNamed("if-none-match"): return .condition
    case 14 where isNamed("content-length") || isNamed("http2-settings"): return .framing
    case 16 where isNamed("proxy-connection"): return .framing
    case 17 where isNamed("if-modified-since"): return .condition
    case 17 where isNamed("transfer-encoding"): return .framing
    default: return .other
    }
  }
}

/// The header fields of a connection's last plain request. A map client sends the same fields with every request for a
/// tile, so that comparing bytes replaces reading them.
struct RequestMemory {
  /// Everything from the space behind the target to the empty line.
  private var tail: [UInt8] = []
  /// True when the client takes gzip as a content coding.
  private(set) var acceptsGzip = false

  private static let start = Array("GET /".utf8)
  /// More than the header fields of clients take.
  private static let tailBytesMax = 2048

  /// Remembers a request.
  ///
  /// - Parameters:
  ///   - request: starts at the beginning of the buffer.
  ///   - acceptsGzip: what its fields say.
  mutating func remember(_ request: PlainRequest, in buffer: ByteBuffer, acceptsGzip: Bool) {
    // GET SP target
    let start = 4 + request.target.utf8.count
    guard request.byteCount - start <= Self.tailBytesMax else { return }
    tail.removeAll(keepingCapacity: true)
    tail.append(
      contentsOf: buffer.readableBytesView[(buffer.readerIndex + start)..<(buffer.readerIndex + request.byteCount)])
    self.acceptsGzip = acceptsGzip
  }

  mutating func forget() { tail.removeAll(keepingCapacity: true) }

  /// The target of a request that otherwise repeats the remembered one, as a range of the bytes; nil when it does not.
  func target(_ bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    guard !tail.isEmpty, bytes.count > tail.count + 5, memcmp(bytes.baseAddress!, Self.start, Self.start.count) == 0
    else { return nil }
    var end = 5
    while end < bytes.count, bytes[end] > 0x20, bytes[end] < 0x7f { end &+= 1 }
    guard bytes.count - end >= tail.count,
      memcmp(bytes.baseAddress! + end, tail, tail.count) == 0
    else { return nil }
    return 4..<end
  }

  /// The bytes that a request takes whose target ends there.
  func byteCount(_ target: Range<Int>) -> Int { target.upperBound + tail.count }
}
