import Support

/// A bundle open for reading, whatever its format: ``MBTilesReader``, ``PMTilesReader``, ``GeoPackageReader``
/// or ``TileFolderReader``; ``BundleFile/open(_:matrixSet:)`` picks one.
///
/// A reader is for one thread at a time and never writes to the bundle or beside it. Opening is cheap: open one reader
/// per thread.
///
/// If another program changes the file in place, reads throw ``BundleError`` with `.changed` and no reader gives bytes
/// of two editions; bytes that a closure got before such an error are not to be used.
public protocol BundleReader: AnyObject {
  /// The file or folder, as the caller named it.
  var path: String { get }
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

  /// Runs a read of the whole bundle, in which a change by another program is an error or not visible.
  func readingOneState<Result>(_ body: () throws -> Result) throws -> Result

  /// Keeps to the present state as long as the reader is open.
  func holdOneState() throws
}

/// A bundle whose state may become another one while a reader is open, because SQLite keeps its readers apart from its
/// writers. Each read is of one state.
package protocol ChangingBundle: BundleReader {
  /// Differs between states. If it is the same before and after some reads, they were of one state.
  var version: UInt64 { get }
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

extension BundleReader {
  /// The default for containers that cannot be without an index.
  public var scansForTiles: Bool { false }
  /// See ``scansForTiles``.
  public func prepareLookups() throws {}
  /// The default for bundles that a change ends.
  public func readingOneState<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  /// See ``readingOneState(_:)``.
  public func holdOneState() throws {}

  /// The default for readers that do not know what is in memory.
  public func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> { .wouldWait }

  /// Passes every tile to a closure: by zoom, then column, then row from the south, which is the order of MBTiles'
  /// index. The bytes are valid until the closure returns.
  public func forEachTile(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws {
    for zoom in try zooms() {
      if let range = try range(zoom: zoom) { try forEachTile(in: range, body) }
    }
  }

  /// The last part of the path without its extension: a title for bundles that have none.
  package var fileStem: String {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name.isEmpty ? "map" : String(name) }
    return String(name[..<dot])
  }

  /// A tile's bytes as stored; nil when the bundle has no such tile.
  ///
  /// - Throws: ``BundleError`` with `.malformed`, `.busy`, `.changed` or `.readFailed`.
  public func tile(_ tile: TileID) throws -> [UInt8]? {
    try withTile(tile) { Array($0) }
  }
}

extension BundleReader {
  /// The format of the first tile, or what a bundle of mixed formats says it is (``StoredMetadata/mixedFormats``); nil
  /// when there are no tiles, or the first is of no known format.
  package func tileFormat() throws -> TileFormat? {
    if let format = metadata.format, !metadata.mixedFormats.isEmpty { return format }
    return try firstTile { TileFormat(sniffing: $0) } ?? nil
  }

  /// The pixels along the edge of the first tile; nil when there are no tiles, or its header does not state them.
  package func tilePixels() throws -> Int? { try firstTile { ImageHeader($0)?.width } ?? nil }

  /// Both of the above, of one search for a tile.
  package func tileFormatAndPixels() throws -> (format: TileFormat?, pixels: Int?) {
    let tile = try firstTile { (format: TileFormat(sniffing: $0), pixels: ImageHeader($0)?.width) }
    return (metadata.mixedFormats.isEmpty ? tile?.format : metadata.format ?? tile?.format, tile?.pixels)
  }

  /// Passes the bytes of the first tile to a closure; nil when there are no tiles.
  private func firstTile<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result? {
    for zoom in try zooms() {
      guard let range = try range(zoom: zoom) else { continue }
      // A level may be sparse, so its first tile is anywhere in the rectangle: a few lookups usually find one,
      // otherwise all tiles are walked. Without an index a lookup costs as much as a walk.
      if scansForTiles, let database = self as? any DatabaseReader {
        if let tile = try database.firstTile(in: range), let result = try withTile(tile, body) { return result }
      } else {
        for tile in range.prefix(1024) {
          if let result = try withTile(tile, body) { return result }
        }
      }
      var found: Result?
      do {
        try forEachTile(in: range) { _, bytes in
          found = try body(bytes)
          throw Enough()
        }
      } catch is Enough {}
      if let found { return found }
    }
    return nil
  }
}

/// Ends the walk after the first tile.
private struct Enough: Error {}

/// The first bytes of a bundle's file, by format.
enum BundleMagic {
  /// Every SQLite database, and so MBTiles (SQLite file format, section 1.3.1).
  static let sqlite = Array("SQLite format 3\0".utf8)
  /// PMTiles v3, section 3; the version follows.
  static let pmtiles = Array("PMTiles".utf8)

  /// The application ids of GeoPackage 1.2 and later, 1.1 and 1.0 (OGC 12-128r18, requirement 2).
  static let geoPackage = ["GPKG", "GP11", "GP10"].map { Array($0.utf8) }
  /// Of the application id in a database's header (SQLite file format, section 1.3).
  private static let applicationIDBytes = 68..<72

  /// True for the head of a database that says to be a GeoPackage.
  static func isGeoPackage(_ head: [UInt8]) -> Bool {
    head.count >= applicationIDBytes.upperBound && geoPackage.contains(Array(head[applicationIDBytes]))
  }

  /// The head of a database with an application id.
  static func databaseHead(applicationID: Int) -> [UInt8] {
    let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: applicationID >> (8 * $0)) }
    return sqlite + [UInt8](repeating: 0, count: applicationIDBytes.lowerBound - sqlite.count) + bytes
  }

  /// The first 72 bytes of a regular file, fewer where it is shorter.
  ///
  /// Not for a database with a log or journal: closing a file drops the POSIX locks that SQLite connections in this
  /// process hold on it.
  /// - Throws: ``FileSystem/SystemError`` or ``ReadOnlyFile/NotAFile``.
  static func head(_ path: String) throws -> [UInt8] {
    try ReadOnlyFile(path).bytes(at: 0, count: applicationIDBytes.upperBound)
  }
}
