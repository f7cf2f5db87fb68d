import CSQLite
import Support

/// The tables of a bundle that is being written as an SQLite database: ``BundleTables`` (MBTiles) or
/// ``GeoPackageTables``. ``BundleWriter`` uses them only under its mutex.
protocol TileTables: AnyObject, Sendable {
  var coverage: TileCoverage { get }
  /// Stored blobs.
  var imageCount: Int { get }
  /// Bytes of the stored blobs.
  var imageBytes: Int { get }
  /// Written last, so that the file does not depend on when they were given.
  var places: [Place]? { get set }

  /// True where equal tiles share their bytes.
  static var usesHashes: Bool { get }

  /// Stores a tile; false when its address is taken.
  ///
  /// - Parameter hash: of the bytes; nil if it is not known.
  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws -> Bool
  /// False when this SQLite lacks what places need.
  func canStorePlaces() throws -> Bool
  /// Writes places and metadata and commits. The connection closes with this object.
  func finish(_ rows: [(name: String, value: String)]) throws
}

extension SQLiteConnection {
  /// SQLite's own page cache; pages that do not fit are written to the file, where the system caches them.
  private static let cacheKibibytes = 8000

  /// Opens the empty file of a bundle that is to be written.
  convenience init(bundleToWrite path: String) throws {
    let parameters = GatheringFileSystem.isAvailable ? ["vfs=\(GatheringFileSystem.name)"] : []
    try self.init(uri: Self.uri(path: path, parameters: parameters), flags: SQLITE_OPEN_READWRITE)
  }

  /// Prepares an empty database for one transaction without a journal, because an incomplete file is discarded anyway.
  func beginBundle(pageBytes: Int) throws {
    try execute("PRAGMA page_size = \(pageBytes)")
    try execute("PRAGMA encoding = 'UTF-8'")
    try execute("PRAGMA auto_vacuum = NONE")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA temp_store = MEMORY")
    try execute("PRAGMA mmap_size = 0")
    try execute("PRAGMA cache_size = -\(Self.cacheKibibytes)")
    try execute("BEGIN EXCLUSIVE")
  }
}
