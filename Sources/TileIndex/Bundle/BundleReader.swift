/// A bundle open for reading, whatever its format: ``MBTilesReader``, ``PMTilesReader`` or ``TileFolderReader``; ``BundleFile/open(_:)`` picks the one that fits.
///
/// A reader is for one thread at a time and never writes to the bundle or beside it. Opening is cheap: open one per thread.
public protocol BundleReader: AnyObject {
  /// The file or folder, as the caller named it.
  var path: String { get }
  /// The grid of the tiles.
  var matrixSet: TileMatrixSet { get }
  /// What the bundle says about itself, in the words of MBTiles; empty where it says nothing.
  var metadata: StoredMetadata { get }

  /// Hands a tile's bytes, as stored, to a closure without copying them; nil when the bundle has no such tile. The bytes are gone when the closure returns.
  ///
  /// - Throws: ``BundleError`` with `.malformed`, `.busy` or `.readFailed`; what the closure throws.
  func withTile<Result>(_ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result?

  /// As ``withTile(_:_:)``, for threads that may not wait for a disk: answers only where all that is needed lies in memory.
  func withResidentTile(_ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> ResidentRead

  /// The zooms that have tiles, rising; not what the metadata claim.
  func zooms() throws -> [Int]

  /// A rectangle around the tiles of a zoom; nil when it has none.
  func range(zoom: Int) throws -> TileRange?

  /// Hands the tiles that lie in a rectangle to a closure: by column, then by row from the south. The bytes are gone when the closure returns.
  func forEachTile(in range: TileRange, _ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws
}

/// What a read without waiting gives.
public enum ResidentRead: Hashable, Sendable {
  /// The closure got the tile.
  case found
  /// The bundle has no such tile.
  case absent
  /// Whether there is a tile cannot be said without waiting.
  case wouldWait
}

extension BundleReader {
  /// Readers that cannot tell what lies in memory always would wait.
  public func withResidentTile(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ResidentRead { .wouldWait }

  /// Hands every tile to a closure: by zoom, then column, then row from the south, which is the order of MBTiles' index. The bytes are gone when the closure
  /// returns.
  public func forEachTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    for zoom in try zooms() {
      if let range = try range(zoom: zoom) { try forEachTile(in: range, body) }
    }
  }

  /// A tile's bytes as stored; nil when the bundle has no such tile.
  ///
  /// - Throws: ``BundleError`` with `.malformed`, `.busy` or `.readFailed`.
  public func tile(_ tile: TileID) throws -> [UInt8]? {
    try withTile(tile) { Array($0) }
  }
}
