import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What a connection's last plain request said beside its target. A map's client sends the same fields with every request for a tile: those need not be
/// read again.
struct RequestMemory {
  /// Everything from the space behind the target to the empty line.
  private var tail: [UInt8] = []
  /// True when the client takes gzip as a content coding.
  private(set) var acceptsGzip = false

  private static let start = Array("GET /".utf8)
  /// More than clients say of themselves.
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
