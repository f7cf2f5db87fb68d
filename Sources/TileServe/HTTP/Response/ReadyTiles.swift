import NIOCore
import Synchronization
import TileIndex

/// A stored tile in the form in which it goes out: its bytes need not be fetched, copied or hashed again.
final class ReadyTile: Sendable {
  let body: ByteBuffer
  let format: TileFormat
  let tag: EntityTag
  /// True for vector tiles that are stored compressed.
  let isGzipped: Bool

  init(_ bytes: UnsafeRawBufferPointer, _ format: TileFormat) {
    body = ByteBuffer(bytes: bytes)
    self.format = format
    tag = EntityTag(hash: ContentHash.hash(bytes))
    isGzipped = Gunzip.isGzip(bytes)
  }
}

/// The stored tiles that were asked for last, ready to be sent.
///
/// The system keeps a bundle's pages too, but between them and the socket lie SQLite's search, two copies and a hash: for tiles of 43 kB half of what a
/// request costs (docs/performance.md).
final class ReadyTiles: Sendable {
  struct Key: Hashable {
    var revision: SourceRevision
    var tile: TileID
  }

  private struct State {
    var table: LRUTable<Key, ReadyTile>
    /// Keys that were asked for once, by their hashes; a new one takes the place of an old.
    var askedOnce = [Int](repeating: 0, count: ReadyTiles.askedOnceCount)
  }

  /// As many as there are tiles of a small map, and few beside those of a large one.
  private static let askedOnceCount = 512

  private let state: Mutex<State>
  /// A tile that is larger does not push out a dozen others.
  private let tileBytesMax: Int

  init(byteCountMax: Int) {
    state = Mutex(State(table: LRUTable(byteCountMax: byteCountMax)))
    tileBytesMax = byteCountMax / 32
  }

  func tile(_ key: Key) -> ReadyTile? { state.withLock { $0.table.value(for: key) } }

  /// True when a tile of so many bytes that is not here should be kept: while there is room, and then only one that was asked for a moment ago too.
  /// Tiles that pass by once would only push out each other, and copying them costs more than it saves.
  func wants(_ key: Key, byteCount: Int) -> Bool {
    guard byteCount <= tileBytesMax else { return false }
    return state.withLock { state in
      if state.table.byteCount + byteCount + Self.overheadBytes <= state.table.byteCountMax { return true }
      let hash = key.hashValue
      let place = Int(UInt(bitPattern: hash) % UInt(Self.askedOnceCount))
      if state.askedOnce[place] == hash { return true }
      state.askedOnce[place] = hash
      return false
    }
  }

  /// Keeps a tile.
  func keep(_ tile: ReadyTile, _ key: Key) {
    // The buffer's memory may be larger than what it holds.
    let bytes = tile.body.storageCapacity + Self.overheadBytes
    state.withLock { $0.table.insert(tile, for: key, byteCount: bytes) }
  }

  var byteCount: Int { state.withLock { $0.table.byteCount } }

  /// Key, links and objects of an entry.
  private static let overheadBytes = 300
}
