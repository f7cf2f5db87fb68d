import Support
import Synchronization
import TileIndex

/// A PMTiles archive on a web server. Its directories are read in parts as needed, and cached in memory.
final class RemoteArchive: Sendable {
  private let client: UpstreamClient
  private let address: HTTPAddress
  private let file = Mutex<RemoteFile?>(nil)
  /// One thread at a time opens the archive.
  private let opening = Mutex(())
  /// When the archive was last checked, in seconds since 1970.
  private let seen = Mutex(0)

  init(_ client: UpstreamClient, _ address: HTTPAddress) { (self.client, self.address) = (client, address) }

  /// Called with the archive's file before anything is read from it.
  typealias Adoption = (RemoteFile) throws -> Void

  /// Reads from the current archive; opens it again if it was replaced.
  func reading<Result>(
    _ adopt: Adoption, _ body: (PMTilesReader, RemoteFile) throws -> Result
  ) throws -> Result {
    for attempt in 0... {
      let file = try current(adopt)
      do {
        return try body(reader(of: file), file)
      } catch is RemoteFile.Replaced where attempt < 2 {
        forget(file)
      } catch is RemoteFile.Replaced {
        throw UpstreamFailure(.invalid, "replaces its archive all the time")
      } catch let error as BundleError {
        client.counts.add(.invalid)
        throw UpstreamFailure(.invalid, "has an archive that cannot be read: \(error.message)")
      }
    }
    preconditionFailure("unreachable")
  }

  /// A reader for this thread. Header, root directory and metadata are read and parsed once for each file.
  private func reader(of file: RemoteFile) throws -> PMTilesReader {
    if let known = file.contents.withLock({ $0 }) {
      return try PMTilesReader(name: settingsName, RemoteBytes(file: file), known)
    }
    let reader = try PMTilesReader(name: settingsName, RemoteBytes(file: file))
    file.contents.withLock { $0 = reader.contents }
    return reader
  }

  /// The archive's answer for a tile.
  func news(
    _ tile: TileID, _ known: UpstreamTileStore.Found?, _ settings: UpstreamSettings, _ adopt: Adoption
  ) throws -> UpstreamNews {
    if known != nil { try lookAgain(settings, adopt) }
    return try reading(adopt) { reader, file in
      let now = WallClock.seconds
      if let known, !file.entityTag.isEmpty, known.state.entityTag == file.entityTag {
        client.counts.add(.unchanged)
        return .unchanged(expires: now + settings.freshSeconds)
      }
      let bytes = try reader.tile(tile)
      if bytes == nil { client.counts.add(.missing) }
      let seconds = bytes == nil ? settings.missingSeconds : settings.freshSeconds
      let state = UpstreamTileStore.State(fetched: now, expires: now + seconds, entityTag: file.entityTag)
      return .tile(bytes, state, archive: file.identity)
    }
  }

  private var settingsName: String { client.settings.host }

  private func current(_ adopt: Adoption) throws -> RemoteFile {
    if let known = file.withLock({ $0 }) { return known }
    return try opening.withLock { _ in
      if let known = file.withLock({ $0 }) { return known }
      let opened = try RemoteFile(client, address)
      try adopt(opened)
      file.withLock { $0 = opened }
      seen.withLock { $0 = WallClock.seconds }
      return opened
    }
  }

  private func forget(_ old: RemoteFile) {
    file.withLock { if $0 === old { $0 = nil } }
  }

  /// Has the archive opened again at the next read, unless it was replaced in the meantime.
  func forget(archive identity: String) {
    file.withLock { if $0?.identity == identity { $0 = nil } }
  }

  /// A stale tile is requested again, so the archive is checked as well, at most once within the freshness lifetime of
  /// tiles.
  private func lookAgain(_ settings: UpstreamSettings, _ adopt: Adoption) throws {
    let now = WallClock.seconds
    let isDue = seen.withLock { seen in
      guard now - seen >= max(min(settings.freshSeconds, settings.missingSeconds), 1) else { return false }
      seen = now
      return true
    }
    guard isDue, let old = file.withLock({ $0 }) else { return }
    let new = try RemoteFile(client, address)
    // Without an entity tag the middle of the file may have changed.
    if new.identity != old.identity || new.entityTag.isEmpty {
      try adopt(new)
      file.withLock { $0 = new }
    }
  }
}

/// A remote file, read in parts by range requests (RFC 9110, section 14). Blocks the calling thread.
///
/// Parts are matched by the server's entity tag: if the file is replaced, reading fails with ``Replaced`` instead of
/// mixing old and new.
final class RemoteFile: Sendable {
  struct Replaced: Error {}

  let byteCount: Int
  /// Empty without a strong entity tag; then a replaced file is detected by ``identity``.
  let entityTag: String
  /// Identifies the file's state: the entity tag; without one a hash of the size, the first bytes and other validators.
  let identity: String
  private let client: UpstreamClient
  private let address: HTTPAddress
  /// The beginning of the file, where a PMTiles archive has its header and, mostly, its root directory and metadata.
  private let head: [UInt8]
  /// Of the archive, once it was opened.
  let contents = Mutex<PMTilesReader.Contents?>(nil)
  private let parts = Mutex(LRUTable<Range<Int>, [UInt8]>(byteCountMax: 8 << 20))

  static let headBytes = 16_384

  /// Reads the beginning of the file.
  init(_ client: UpstreamClient, _ address: HTTPAddress) throws(UpstreamFailure) {
    (self.client, self.address) = (client, address)
    let answer = try client.get(
      address, [("Range", ByteRange.field(0..<Self.headBytes))], bytesMax: Self.headBytes, answers: [206])
    guard let total = Self.total(answer.field("content-range"), from: 0),
      answer.body.count == min(total, Self.headBytes)
    else { throw Self.wrong(client) }
    client.counts.add(.fetched)
    byteCount = total
    let tag = answer.field("etag") ?? ""
    // A weak tag does not guarantee equal bytes.
    entityTag = tag.hasPrefix("W/") ? "" : tag
    head = answer.body
    if entityTag.isEmpty {
      let marks = answer.body + "\(total) \(tag) \(answer.field("last-modified") ?? "")".utf8
      identity = "unnamed " + String(marks.withUnsafeBytes(ContentHash.hash), radix: 16)
    } else {
      identity = entityTag
    }
  }

  /// - Parameter isKept: true for directories, which are read repeatedly.
  func bytes(_ range: Range<Int>, isKept: Bool) throws -> [UInt8] {
    if range.isEmpty { return [] }
    if range.upperBound <= head.count { return Array(head[range]) }
    if let known = parts.withLock({ $0.value(for: range) }) { return known }
    var fields = [("Range", ByteRange.field(range))]
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

  /// The size of the whole file when the answer begins at the requested offset.
  private static func total(_ field: String?, from start: Int) -> Int? {
    field.flatMap(ContentRange.init).flatMap { $0.range.lowerBound == start ? $0.total : nil }
  }
}

/// Adapts a remote file to archive readers. Directories are cached in memory; tiles are not, they go into the bundle.
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
