import Support
import Synchronization
import TileIndex

/// A file that a web server has, read in parts by range requests (RFC 9110, section 14). Blocks the calling thread.
///
/// What belongs together is told by the server's entity tag: when the file is replaced, reading fails with ``Replaced`` instead of mixing old and new.
final class RemoteFile: Sendable {
  struct Replaced: Error {}

  let byteCount: Int
  /// Empty where the server says none that names the bytes; then a replaced file is noticed by what ``identity`` is made of.
  let entityTag: String
  /// Another one for another file: the entity tag; without one a hash of the size, the first bytes, and what else the server says of the file's state.
  let identity: String
  private let client: UpstreamClient
  private let address: HTTPAddress
  /// The beginning of the file, where a PMTiles archive has its header and, mostly, its root directory and metadata.
  private let head: [UInt8]
  private let parts = Mutex(LRUTable<Range<Int>, [UInt8]>(byteCountMax: 8 << 20))

  static let headBytes = 16_384

  /// Reads the beginning of the file.
  init(_ client: UpstreamClient, _ address: HTTPAddress) throws(UpstreamFailure) {
    (self.client, self.address) = (client, address)
    let answer = try client.get(
      address, [("Range", "bytes=0-\(Self.headBytes - 1)")], bytesMax: Self.headBytes, answers: [206])
    guard let total = Self.total(answer.field("content-range"), from: 0),
      answer.body.count == min(total, Self.headBytes)
    else { throw Self.wrong(client) }
    client.counts.add(.fetched)
    byteCount = total
    let tag = answer.field("etag") ?? ""
    // A weak tag says nothing of single bytes.
    entityTag = tag.hasPrefix("W/") ? "" : tag
    head = answer.body
    if entityTag.isEmpty {
      let marks = answer.body + "\(total) \(tag) \(answer.field("last-modified") ?? "")".utf8
      identity = "unnamed " + String(marks.withUnsafeBytes(ContentHash.hash), radix: 16)
    } else {
      identity = entityTag
    }
  }

  /// - Parameter isKept: for what is read again and again: directories.
  func bytes(_ range: Range<Int>, isKept: Bool) throws -> [UInt8] {
    if range.isEmpty { return [] }
    if range.upperBound <= head.count { return Array(head[range]) }
    if let known = parts.withLock({ $0.value(for: range) }) { return known }
    var fields = [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
    if !entityTag.isEmpty { fields.append(("If-Match", entityTag)) }
    let answer = try client.get(address, fields, bytesMax: range.count, answers: [206, 412, 416])
    guard answer.status == 206, entityTag.isEmpty || answer.field("etag") == entityTag else { throw Replaced() }
    guard Self.total(answer.field("content-range"), from: range.lowerBound) == byteCount else { throw Replaced() }
    guard answer.body.count == range.count else { throw Self.wrong(client) }
    client.counts.add(.fetched)
    if isKept { parts.withLock { $0.insert(answer.body, for: range, byteCount: answer.body.count + 64) } }
    return answer.body
  }

  private static func wrong(_ client: UpstreamClient) -> UpstreamFailure {
    client.counts.add(.invalid)
    return UpstreamFailure(.invalid, "gives other bytes than those that were asked for")
  }

  /// The whole file's size where the answer begins at the place that was asked for.
  private static func total(_ field: String?, from start: Int) -> Int? {
    field.flatMap(ContentRange.init).flatMap { $0.range.lowerBound == start ? $0.total : nil }
  }
}

/// A remote file as readers of archives want it. Directories are kept in memory, tiles are not: they go into the bundle.
struct RemoteBytes: ByteSource {
  let file: RemoteFile

  var byteCount: Int { file.byteCount }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    let found = try file.bytes(range(offset, buffer.count), isKept: false)
    found.withUnsafeBytes { buffer.copyMemory(from: $0) }
    return found.count
  }

  func bytes(at offset: Int, count: Int) throws -> [UInt8] { try file.bytes(range(offset, count), isKept: true) }

  private func range(_ offset: Int, _ count: Int) -> Range<Int> {
    let start = min(max(offset, 0), byteCount)
    return start..<min(start + count, byteCount)
  }
}
