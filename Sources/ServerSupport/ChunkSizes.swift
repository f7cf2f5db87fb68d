import Support

/// Follows the requests in a connection's bytes and finds chunks that are larger than any body that is taken
/// (RFC 9112, section 7.1). NIO's parser tells of a chunk when its bytes have come, so that a client could announce
/// 10 GB, send nothing, and keep the connection until its time is over.
package struct ChunkSizes: Sendable {
  /// A chunk is larger than any body that is taken.
  package struct TooLarge: Error {
    package init() {}
  }

  private enum Part {
    /// A line of a head.
    case head
    /// Bytes of a body or chunk that are left.
    case body(Int)
    case chunk(Int)
    case chunkSize
    case trailer
  }

  /// Of the lines of a head, the framing of the body that follows.
  private enum Framing {
    case none
    case length(Int)
    case chunked
  }

  private let bytesMax: Int
  private var part = Part.head
  private var framing = Framing.none
  /// The beginning of the line that is being read. Longer lines are of no interest, or refused by the parser.
  private var line: [UInt8] = []
  private var hasLines = false

  /// - Parameter bytesMax: of a chunk.
  package init(bytesMax: Int) { self.bytesMax = bytesMax }

  private static let lineBytesMax = 64

  /// Follows bytes that have arrived.
  ///
  /// - Returns: where the line begins or goes on that announces a chunk of more than the limit; nil without one.
  package mutating func firstTooLarge(_ bytes: some Collection<UInt8>) -> Int? {
    var (rest, at, lineStart) = (bytes[...], 0, 0)
    while !rest.isEmpty {
      switch part {
      case .body(let left), .chunk(let left):
        let count = min(left, rest.count)
        (rest, at) = (rest.dropFirst(count), at + count)
        lineStart = at
        if case .body = part { part = left == count ? .head : .body(left - count) } else { skip(left - count) }
      case .head, .chunkSize, .trailer:
        let end = rest.firstIndex(of: UInt8(ascii: "\n"))
        let piece = rest[..<(end ?? rest.endIndex)]
        line += piece.prefix(max(Self.lineBytesMax - line.count, 0))
        let count = piece.count + (end == nil ? 0 : 1)
        if case .chunkSize = part, size.map({ $0 > bytesMax }) ?? false { return lineStart }
        (rest, at) = (rest.dropFirst(count), at + count)
        guard end != nil else { continue }
        endLine()
        lineStart = at
      }
    }
    return nil
  }

  /// A chunk ends with a line end.
  private mutating func skip(_ left: Int) { part = left > 0 ? .chunk(left) : .chunkSize }

  private mutating func endLine() {
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    defer { line.removeAll(keepingCapacity: true) }
    switch part {
    case .body, .chunk: break
    case .chunkSize:
      // The parser refuses what is no number.
      guard let size else { return }
      part = size == 0 ? .trailer : .chunk(size + 2)
    case .trailer:
      if line.isEmpty { part = .head }
    case .head:
      guard line.isEmpty else {
        hasLines = true
        return note(String(decoding: line, as: UTF8.self).lowercased())
      }
      // Empty lines before a request count for nothing.
      guard hasLines else { return }
      switch framing {
      case .none: break
      case .length(let count): if count > 0 { part = .body(count) }
      case .chunked: part = .chunkSize
      }
      (framing, hasLines) = (.none, false)
    }
  }

  private mutating func note(_ field: String) {
    guard let colon = field.firstIndex(of: ":") else { return }
    let value = field[field.index(after: colon)...].trimmingWhitespace
    switch field[..<colon] {
    case "transfer-encoding" where value.hasSuffix("chunked"): framing = .chunked
    case "content-length":
      if case .chunked = framing { return }
      framing = .length(Int(value) ?? 0)
    default: break
    }
  }

  /// The number at the beginning of the line; nil for none, and the largest for one that no number can hold.
  private var size: Int? {
    let digits = line.prefix { Self.digit($0) != nil }
    guard !digits.isEmpty else { return nil }
    return digits.reduce(0) { size, byte in
      size > Int.max >> 8 ? Int.max : size << 4 | Self.digit(byte)!
    }
  }

  private static func digit(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte) - 0x57
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte) - 0x37
    default: nil
    }
  }
}
