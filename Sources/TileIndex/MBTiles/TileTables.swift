/// The tables of a bundle that is being written as an SQLite database: ``BundleTables`` (MBTiles) or
/// ``GeoPackageTables``. ``BundleWriter`` uses them only under its mutex.
protocol TileTables: AnyObject, Sendable {
  var coverage: TileCoverage { get }
  /// Stored blobs.
  var imageCount: Int { get }
  /// Written last, so that the file does not depend on when they were given.
  var places: [Place]? { get set }

  /// True where equal tiles share their bytes.
  static var usesHashes: Bool { get }

  /// False when this SQLite lacks what places need.
  static func canStorePlaces() throws -> Bool

  /// Stores a tile.
  ///
  /// - Parameter hash: of the bytes; nil if it is not known.
  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws
  /// Writes places and metadata, and closes the file.
  ///
  /// - Throws: ``BundleError`` for a tile that was stored twice.
  func finish(_ rows: [(name: String, value: String)]) throws
}
