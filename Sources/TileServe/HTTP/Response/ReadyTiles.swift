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
    isGzipped = bytes.count > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b
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

  private let table: Mutex<LRUTable<Key, ReadyTile>>
  /// A tile that is larger does not push out a dozen others.
  private let tileBytesMax: Int

  init(byteCountMax: Int) {
    table = Mutex(LRUTable(byteCountMax: byteCountMax))
    tileBytesMax = byteCountMax / 32
  }

  func tile(_ key: Key) -> ReadyTile? { table.withLock { $0.value(for: key) } }

  /// Keeps a tile, if there is room for its like.
  func keep(_ tile: ReadyTile, _ key: Key) {
    // The buffer's memory may be larger than what it holds; key, links and objects take about 300 bytes.
    let bytes = tile.body.storageCapacity + 300
    guard bytes <= tileBytesMax else { return }
    table.withLock { $0.insert(tile, for: key, byteCount: bytes) }
  }

  var byteCount: Int { table.withLock { $0.byteCount } }
}
