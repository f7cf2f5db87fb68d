import LibC
import NIOCore
import Support
import Synchronization
import TileIndex

/// The whole response to a plain request for a stored tile. Only the date differs between clients.
final class CachedResponse: Sendable {
  /// The bytes of the request target.
  fileprivate let target: [UInt8]
  /// The head, and the body unless that is in pages.
  private let bytes: ByteBuffer
  private let pages: SharedPages?
  private let uses = Atomic(0)
  private let headCount: Int
  let bodyCount: Int
  let route: RouteName
  /// What the tile is of, and its state then.
  private let tileset: Tileset
  private let revision: SourceRevision
  /// The registry's ``TilesetRegistry/generation`` when it was made.
  private let generation: Int
  /// True for vector tiles that are sent compressed.
  let isGzipped: Bool

  /// - Parameter reply: a response with status 200 and its body behind its head.
  init(_ reply: EncodedResponse, of served: ServedTileset, target: [UInt8], generation: Int, isGzipped: Bool) {
    self.target = target
    bodyCount = reply.bodyCount
    headCount = reply.bytes.readableBytes - reply.bodyCount
    (bytes, pages) = (reply.bytes, nil)
    route = reply.route
    (tileset, revision) = (served.tileset, served.revision)
    self.generation = generation
    self.isGzipped = isGzipped
  }

  /// The same response with its body in pages.
  private init(_ other: CachedResponse, _ pages: SharedPages) {
    (target, bodyCount, headCount) = (other.target, other.bodyCount, other.headCount)
    (bytes, self.pages) = (ByteBuffer(bytes: other.bytes.readableBytesView.prefix(other.headCount)), pages)
    (route, tileset, revision) = (other.route, other.tileset, other.revision)
    (generation, isGzipped) = (other.generation, other.isGzipped)
  }

  /// Counts a use. One of the first moves the body of a large response to pages. Not the very first: that takes longer
  /// than a few copies to sockets, and in a cache that is too small most responses are dropped before.
  ///
  /// - Returns: what takes its place; nil for all other uses.
  fileprivate func used() -> CachedResponse? {
    guard bodyCount >= SharedPages.bytesMin, pages == nil, uses.add(1, ordering: .relaxed).newValue == Self.usesOfPages
    else {
      return nil
    }
    let pages = bytes.withUnsafeReadableBytes { bytes in
      SharedPages(copying: UnsafeRawBufferPointer(rebasing: bytes[headCount...]))
    }
    return pages.map { CachedResponse(self, $0) }
  }

  private static let usesOfPages = 8

  /// Bytes of the response.
  var responseCount: Int { headCount + bodyCount }

  /// False once a change of the bundle was noticed.
  fileprivate func isCurrent(_ generation: Int) -> Bool {
    self.generation == generation && tileset.revision == revision
  }

  /// Passes the response to system calls: bytes to be copied, and pages that follow them.
  ///
  /// - Parameter date: the value of the Date field.
  func withParts<Result>(
    _ date: [UInt8], _ body: (UnsafeMutableBufferPointer<iovec>, SharedPages?) -> Result
  ) -> Result {
    bytes.withUnsafeReadableBytes { response in
      date.withUnsafeBytes { date in
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { parts in
          let dateEnd = ReplyWriter.datePlace + date.count
          parts[0] = Self.part(response[..<ReplyWriter.datePlace])
          parts[1] = Self.part(date[...])
          parts[2] = Self.part(response[dateEnd...])
          return body(parts, pages)
        }
      }
    }
  }

  private static func part(_ bytes: Slice<UnsafeRawBufferPointer>) -> iovec {
    let bytes = UnsafeRawBufferPointer(rebasing: bytes)
    return iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
  }

  /// The response without its first bytes, for the pipeline: one buffer, or two if copying a large body would cost
  /// more.
  func rest(after count: Int, _ date: [UInt8]) -> (ByteBuffer, ByteBuffer?) {
    let done = max(count - headCount, 0)
    let body =
      pages.map { ByteBuffer(bytes: $0.bytes[done...]) }
      ?? bytes.getSlice(at: bytes.readerIndex + headCount + done, length: bodyCount - done)!
    guard count < headCount else { return (body, nil) }
    let isWhole = bodyCount <= Self.copiedBytesMax
    var first = ByteBufferAllocator().buffer(capacity: headCount + (isWhole ? bodyCount : 0))
    first.writeBytes(bytes.readableBytesView.prefix(headCount))
    first.setBytes(date, at: ReplyWriter.datePlace)
    first.moveReaderIndex(forwardBy: count)
    guard isWhole else { return (first, body) }
    first.writeImmutableBuffer(body)
    return (first, nil)
  }

  private static var copiedBytesMax: Int { 8192 }

  /// The memory that it takes; a buffer's capacity is larger than its contents.
  fileprivate var byteCount: Int { bytes.storageCapacity + (pages?.byteCount ?? 0) + target.count + 400 }
}

/// A cache of whole responses for stored tiles, by the bytes of the request target.
///
/// The page cache has a bundle's pages too, but reading the request, SQLite's search, copies and a hash take a third of
/// the time of a request (docs/reference/performance.md).
final class ResponseCache: Sendable {
  private struct State {
    var table: LRUTable<UInt64, CachedResponse>
    /// Hashes of targets that were requested once; a new one replaces an old one.
    var askedOnce = [UInt64](repeating: 0, count: ResponseCache.askedOnceCount)
  }

  /// About the number of tiles of a small map, and few compared with a large one.
  private static let askedOnceCount = 128
  /// Longer targets than those of tiles are not cached.
  private static let targetBytesMax = 256

  /// Sharded, because waiting for a lock costs more than everything else here.
  private let shares: [Share]
  /// Larger responses are not stored, so that they do not evict many others.
  private let replyBytesMax: Int

  private final class Share: Sendable {
    let state: Mutex<State>
    init(byteCountMax: Int) { state = Mutex(State(table: LRUTable(byteCountMax: byteCountMax))) }
  }

  /// - Parameter byteCountMax: the memory budget, never exceeded; 0 stores nothing.
  init(byteCountMax: Int) {
    let count = min(max(byteCountMax >> 22, 1), 8)
    shares = (0..<count).map { _ in Share(byteCountMax: byteCountMax / count) }
    replyBytesMax = byteCountMax / 32
  }

  /// The response for a target, if it was made from the bundle's current state.
  ///
  /// - Complexity: O(bytes of the target).
  func reply(_ target: UnsafeRawBufferPointer, generation: Int) -> CachedResponse? {
    guard 1...Self.targetBytesMax ~= target.count else { return nil }
    let hash = ContentHash.hash(target)
    let found = share(hash).state.withLock { $0.table.value(for: hash) }
    guard let found, found.isCurrent(generation), found.target.count == target.count,
      found.target.withUnsafeBytes({ memcmp($0.baseAddress!, target.baseAddress!, target.count) == 0 })
    else { return nil }
    guard let next = found.used() else { return found }
    keep(next)
    return next
  }

  /// True if a new response should be stored: while there is room, and after that only one whose target was requested
  /// recently. Tiles that are requested once would only evict each other.
  func wants(_ target: [UInt8], byteCount: Int) -> Bool {
    guard byteCount <= replyBytesMax, target.count <= Self.targetBytesMax else { return false }
    let hash = target.withUnsafeBytes(ContentHash.hash)
    return share(hash).state.withLock { state in
      if state.table.byteCount + byteCount <= state.table.byteCountMax { return true }
      let place = Int(truncatingIfNeeded: hash >> 8) & (Self.askedOnceCount - 1)
      if state.askedOnce[place] == hash { return true }
      state.askedOnce[place] = hash
      return false
    }
  }

  /// Stores a response.
  func keep(_ reply: CachedResponse) {
    let hash = reply.target.withUnsafeBytes(ContentHash.hash)
    share(hash).state.withLock { $0.table.insert(reply, for: hash, byteCount: reply.byteCount) }
  }

  /// Sets another budget, and evicts what exceeds it.
  func resize(to byteCountMax: Int) {
    for share in shares { share.state.withLock { $0.table.resize(to: byteCountMax / shares.count) } }
  }

  var byteCount: Int { shares.reduce(0) { $0 + $1.state.withLock { $0.table.byteCount } } }

  private func share(_ hash: UInt64) -> Share {
    shares[Int(truncatingIfNeeded: hash >> 56) % shares.count]
  }
}
