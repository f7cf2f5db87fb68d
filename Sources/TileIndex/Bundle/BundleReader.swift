/// A bundle open for reading, whatever its container; ``BundleFile/open(_:matrixSet:)`` opens one.
///
/// A reader is for one thread at a time and never writes to the bundle or beside it. Opening is cheap: open one reader
/// per thread.
///
/// What a container does in its own way is a requirement with a default, so that nobody asks which container it is.
///
/// If another program changes the file in place, reads throw ``BundleError`` with `.changed` and no reader gives bytes
/// of two editions; bytes that a closure got before such an error are not to be used.
public protocol BundleReader: AnyObject {
  /// The file or folder, as the caller named it.
  var path: String { get }
  /// What is read otherwise than the container says, because the stated bounds fit only so; nil for most bundles.
  var placementWarning: BundleError? { get }
  /// The grid of the tiles.
  var matrixSet: TileMatrixSet { get }
  /// The bundle's metadata under the names of MBTiles; empty where it has none.
  var metadata: StoredMetadata { get }

  /// Passes a tile's bytes, as stored, to a closure without copying them; nil when the bundle has no such tile. The
  /// bytes are valid until the closure returns.
  ///
  /// - Throws: ``BundleError`` with `.malformed`, `.busy`, `.changed` or `.readFailed`; what the closure throws.
  func withTile<Result>(_ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result?

  /// As ``withTile(_:_:)``, for threads that must not block on a disk: succeeds only when everything needed is in
  /// memory.
  func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value>

  /// The zooms that have tiles, in ascending order, whatever the metadata say.
  func zooms() throws -> [Int]

  /// A rectangle around the tiles of a zoom; nil when it has none.
  func range(zoom: Int) throws -> TileRange?

  /// Passes the tiles in a rectangle to a closure, by column, then by row from the south. The bytes are valid until the
  /// closure returns.
  func forEachTile(in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws

  /// True while each look-up of a tile reads a whole table, because its maker left the index out.
  var scansForTiles: Bool { get }

  /// Prepares for looking up many tiles: makes a temporary index where ``scansForTiles``. It belongs to the present
  /// state of the bundle, so that reads after a change throw `.changed`.
  ///
  /// - Complexity: O(tiles log tiles) where there is no index.
  func prepareLookups() throws

  /// A tile of a rectangle that has tiles, for a bundle that ``scansForTiles``; nil if it does not know one.
  func firstTile(in range: TileRange) throws -> TileID?

  /// Runs a read of the whole bundle, in which a change by another program is an error or not visible.
  func readingOneState<Result>(_ body: () throws -> Result) throws -> Result

  /// Keeps to the present state as long as the reader is open.
  func holdOneState() throws

  /// Differs between states of a bundle that SQLite changes while readers are open; each read is of one state. If it is
  /// the same before and after some reads, they were of one state. Always 0 for a bundle that a change ends.
  var version: UInt64 { get }

  /// Opens another reader of the same bundle, for another thread, which shares what this one has open; nil where
  /// opening the file again is as good.
  var opener: (@Sendable () -> any BundleReader)? { get }

  /// Bytes of the bundle that the reader keeps in memory, beyond a few pages.
  var memoryBytes: Int { get }

  // MARK: Contents

  /// The places, in their order.
  ///
  /// - Throws: ``BundleError``.
  func places() throws -> StoredPlaces

  /// The places as tables with an index; nil where there are none.
  ///
  /// - Throws: ``BundleError``.
  func placeTable() throws -> PlaceTable?

  /// The number of tiles, where that is known without reading them all: nil in folders, tilesets of shards, and
  /// archives whose makers did not count.
  var knownTileCount: Int? { get }

  /// The number of tiles that ``inspection(_:)`` reads, where that is known before.
  var knownReadCount: Int? { get }

  /// Reads through the bundle.
  ///
  /// - Parameter progress: called every 256 tiles with the number of tiles read so far.
  /// - Throws: ``BundleError``.
  func inspection(_ progress: @escaping (Int) -> Void) throws -> BundleInspection

  /// How many rows of the bundle's table of tiles are no tiles.
  ///
  /// - Parameter read: the tiles that reading all of the bundle gave.
  func leftOutRows(read: Int) -> Int

  /// How many files of images in the bundle's folders are no tiles.
  ///
  /// - Parameter read: the tiles that reading all of the bundle gave.
  func leftOutFiles(read: Int) -> Int

  /// How many rows of tables lie in a rectangle, tiles or not; nil for containers without tables.
  func rowCount(in range: TileRange) throws -> Int?

  /// True for a container in which makers mix PNG and JPEG without a word.
  var mixesFormats: Bool { get }

  // MARK: Where tiles lie

  /// Passes every tile to a closure in the order that costs least. Archives have them by Hilbert id; other containers
  /// give them so only if that is wanted and they can without reading all tiles twice.
  func forEachTile(byID isWanted: Bool, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws

  /// Passes every tile to a closure as ``forEachTile(_:)`` does, for hashes and copies of the whole. At its end a
  /// tileset of shards throws `.malformed` where tiles of a shard are not those that were written.
  func forEachTileInOrder(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws

  /// Every tile with the size of its bytes, by zoom, column and row from the south.
  ///
  /// - Complexity: O(bytes), in MBTiles O(tiles).
  func forEachTileSize(_ body: (TileID, Int) throws -> Void) throws

  /// The order in which the tiles were written; nil where that is not recorded.
  var putOrder: (any PutOrder)? { get }

  /// True for a bundle that has a hash of each tile.
  var storesTileHashes: Bool { get }

  /// The 64-bit hash of the bytes that a tile was written with; nil where the bundle has none.
  ///
  /// - Throws: ``BundleError``.
  func storedHash(of tile: TileID) throws -> UInt64?

  // MARK: Metadata

  /// Replaces the bundle atomically by one with other metadata and the same tiles.
  ///
  /// - Parameters:
  ///   - rows: all rows.
  ///   - name: the only row that was changed, added or removed.
  ///   - progress: called with the number of bytes copied so far.
  /// - Throws: ``BundleError``: `.invalidContent` where that is impossible; errors of writing bundles.
  func replaceMetadata(_ rows: [StoredMetadata.Entry], changed name: String, progress: (Int) -> Void) throws

  /// The number of bytes that ``replaceMetadata(_:changed:progress:)`` copies; nil where it copies no tiles.
  var bytesCopiedForMetadata: Int? { get }
}

/// The result of a non-blocking read.
public enum ResidentRead<Value> {
  /// What the closure returned. Anything else that the closure did with the bytes does not count: if the file changed
  /// during the read, they may be of two states.
  case found(Value)
  /// The bundle has no such tile.
  case absent
  /// The answer is not in memory.
  case wouldWait
}

extension ResidentRead: Equatable where Value: Equatable {}
extension ResidentRead: Sendable where Value: Sendable {}

/// The order in which a bundle's tiles were written. A patch that records it gives the same file byte for byte.
public protocol PutOrder {
  /// The position of a tile, not necessarily without gaps; nil when there is no such tile.
  func position(of tile: TileID) throws -> Int?

  /// Passes all tiles, or those of some positions, to a closure in their order. Rows whose address is not in the grid
  /// are skipped.
  func forEachTile(at positions: ClosedRange<Int>?, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws

  /// A hash over the positions of all tiles, without their bytes.
  ///
  /// - Complexity: O(tiles).
  func digest() throws -> String
}

/// Counts the tiles that a work has read, in all its passes, and tells whoever shows it.
package final class TileCount {
  private var tiles = 0
  private let progress: (Int) -> Void

  /// - Parameter progress: called every 256 tiles.
  package init(_ progress: @escaping (Int) -> Void) { self.progress = progress }

  package func add() {
    tiles += 1
    if tiles % 256 == 0 { progress(tiles) }
  }
}
