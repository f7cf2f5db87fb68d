package import Support

/// Reads the tiles of an MBTiles bundle from any producer: flat tables and views, integer and text ids, with or without
/// metadata, from read-only media, with changes still in a write-ahead log. Never writes to the bundle or beside it.
///
/// A reader has one connection and one prepared statement and is for one thread at a time. Opening takes about 0.1 ms:
/// open one reader per thread. A bundle that is modified in place while open may give tiles of either state; after a
/// bundle is replaced by rename, open readers keep the old file.
public final class MBTilesReader: DatabaseReader {
  /// The file, as the caller named it.
  public let path: String
  /// The grid, from the metadata; WebMercatorQuad if they name none.
  public let matrixSet: TileMatrixSet
  /// The metadata as found; empty when the table is missing.
  public let metadata: StoredMetadata
  /// The layout of the tables.
  public var layout: BundleLayout { schema.layout }

  package let connection: SQLiteConnection
  private(set) var schema: BundleSchema
  package private(set) var lookup: SQLiteStatement
  package private(set) lazy var scansForTiles = AddressIndex.scans(Self.lookup(in: schema), connection)
  /// Makes non-blocking reads possible; nil where they are not.
  let residentFile: ResidentFileSystem.File?
  package var attachment: AnyObject?
  private(set) lazy var blobFinder = BlobFinder(self)

  /// Opens an MBTiles file.
  ///
  /// - Parameters:
  ///   - path: an MBTiles file.
  ///   - matrixSet: the grid of a bundle whose metadata neither name a well-known grid nor define one.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  public init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    connection = try BundleAccess.open(path)
    residentFile = ResidentFileSystem.File(connection)
    do {
      schema = try BundleSchema(connection, path: path)
      metadata = try Self.readMetadata(connection, path: path)
      lookup = try connection.prepare(Self.lookup(in: schema))
    } catch let error as SQLiteError {
      throw BundleAccess.bundleError(error, path: path)
    }
    if let matrixSet {
      self.matrixSet = matrixSet
    } else if let known = try metadata.matrixSet(path: path) {
      self.matrixSet = known
    } else if schema.tiles == MBTilesSchema.otherGridView {
      throw BundleError(
        .malformed, path: path,
        "it has \(schema.tiles) but its metadata do not name a \(MetadataKey.matrixSet)")
    } else {
      self.matrixSet = .webMercatorQuad
    }
  }

  /// Passes a tile's bytes to a closure without copying them; nil when the bundle has no such tile. The bytes are valid
  /// until the closure returns.
  ///
  /// - Complexity: O(log tiles); O(tiles) where the table has no index.
  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try withStoredTile(tile, body) }
  }

  private static func lookup(in schema: BundleSchema) -> String {
    "SELECT tile_data FROM \(schema.tiles) WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
  }

  package func indexTiles() throws {
    guard scansForTiles else { return }
    try reading {
      schema.keys = try AddressIndex.make(
        of: AddressIndex.Source(tiles: schema.tiles, layout: layout), bytes: FileSystem.size(path), connection)
      schema.tiles = AddressIndex.tiles
      lookup = try connection.prepare(Self.lookup(in: schema))
    }
    scansForTiles = false
  }

  package var keyTable: String { schema.keys }

  package func tile(zoom: Int, column: Int, storedRow: Int) -> TileID? {
    tile(at: StoredKey(zoom: zoom, column: column, storedRow: storedRow))
  }

  package func storedRow(of tile: TileID) -> Int {
    MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight)
  }

  public func withResidentTile(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ResidentRead {
    try residentRead(residentFile) { try withStoredTile(tile, body) == nil ? .absent : .found }
  }

  private static func readMetadata(_ connection: SQLiteConnection, path: String) throws -> StoredMetadata {
    let columns = try BundleSchema.columns(of: "metadata", connection)
    guard columns["name"] != nil, columns["value"] != nil else { return StoredMetadata([]) }
    let statement = try connection.prepare("SELECT name, value FROM metadata LIMIT \(MetadataLimits.rowsMax + 1)")
    var entries: [StoredMetadata.Entry] = []
    do {
      try connection.limitingValues(to: MetadataLimits.rowBytesMax) {
        while try statement.step() {
          entries.append(StoredMetadata.Entry(name: statement.text(0), value: statement.text(1)))
        }
      }
    } catch let error as SQLiteError where error.isTooBig {
      let before = entries.last.map { "the row after \"\($0.name.prefix(100))\"" } ?? "the first row"
      throw MetadataLimits.tooLong(path, "\(before) has too many bytes")
    }
    try MetadataLimits.check(entries, path: path)
    return StoredMetadata(entries)
  }
}

// MARK: - Positions in the file

/// The row of a tile's blob in the tables of the file, for a server that reads SQLite's pages itself.
package struct BlobRow: Sendable {
  /// The first page of the table.
  package var root: Int
  package var rowid: Int64
  /// Counts from 0, in the order of the table.
  package var column: Int
}

extension MBTilesReader: BundleInFile {
  package var descriptor: Int32? { residentFile?.descriptor }

  /// The row of a tile's blob; nil when there is none, or the tiles are not in a plain table.
  ///
  /// - Complexity: O(log tiles).
  package func blobRow(of tile: TileID) -> BlobRow? {
    guard let finder = blobFinder else { return nil }
    bind(tile, to: finder.rowid)
    defer { finder.rowid.reset() }
    guard (try? finder.rowid.step()) == true else { return nil }
    return BlobRow(root: finder.root, rowid: Int64(finder.rowid.int(0)), column: finder.column)
  }

  /// Fills a buffer from an offset of the file; false if the file is shorter or cannot be read, and within
  /// ``withResidentTile(_:_:)`` if that would block.
  package func readFile(_ room: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool {
    residentFile?.read(room, offset) ?? false
  }

  /// The statement and numbers for finding a blob's row, made on first use.
  struct BlobFinder {
    let rowid: SQLiteStatement
    let root: Int
    let column: Int

    /// Nil when the tiles are not in a plain table.
    init?(_ reader: MBTilesReader) {
      let place = "zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"
      let (table, sql) =
        switch reader.schema.layout {
        case .flat:
          (reader.schema.tiles, "SELECT rowid FROM \(reader.schema.tiles) WHERE \(place)")
        case .mapAndImages:
          ("images", "SELECT images.rowid FROM map JOIN images ON images.tile_id = map.tile_id WHERE \(place)")
        case .view:
          ("", "")
        }
      guard !table.isEmpty,
        let root = try? reader.connection.prepare(
          "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND lower(name) = '\(table)'"),
        (try? root.step()) == true, let rowid = try? reader.connection.prepare(sql),
        let columns = try? reader.connection.prepare(
          "SELECT cid FROM pragma_table_xinfo('\(table)') WHERE lower(name) = 'tile_data' AND hidden = 0"),
        (try? columns.step()) == true
      else { return nil }
      self.rowid = rowid
      self.root = root.int(0)
      column = columns.int(0)
    }
  }
}
