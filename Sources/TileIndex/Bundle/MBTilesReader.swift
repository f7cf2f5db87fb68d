/// Reads the tiles of an MBTiles bundle, whoever made it: flat tables and views, integer and text ids, with or without metadata, from read-only media,
/// with changes still in a write-ahead log. Nothing is ever written to the bundle or beside it.
///
/// A reader holds one connection and one prepared statement and is for one thread at a time. Opening is cheap (about 0.1 ms): open one per thread.
/// A bundle that is changed in place while it is open may give tiles of either state; a bundle that is replaced by rename is read on as it was.
public final class MBTilesReader: BundleReader {
  /// The file, as the caller named it.
  public let path: String
  /// The grid, from the metadata; WebMercatorQuad where they name none.
  public let matrixSet: TileMatrixSet
  /// The metadata as found; empty when the table is missing.
  public let metadata: StoredMetadata
  /// How the tiles are kept.
  public var layout: BundleLayout { schema.layout }

  package let connection: SQLiteConnection
  let schema: BundleSchema
  private let lookup: SQLiteStatement
  /// Lets reads be told not to wait; nil where that is not possible.
  let residentFile: ResidentFileSystem.File?
  private(set) lazy var blobFinder = BlobFinder(self)

  /// - Parameters:
  ///   - path: an MBTiles file.
  ///   - matrixSet: the grid of a bundle whose metadata neither name a well-known one nor define their own.
  /// - Throws: ``BundleError`` with `.notFound`, `.malformed`, `.busy` or `.readFailed`.
  public init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    connection = try BundleAccess.open(path)
    residentFile = ResidentFileSystem.File(connection)
    do {
      schema = try BundleSchema(connection, path: path)
      metadata = try Self.readMetadata(connection)
      lookup = try connection.prepare(
        """
        SELECT tile_data FROM \(schema.tiles) \
        WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3
        """)
    } catch let error as SQLiteError {
      throw BundleAccess.bundleError(error, path: path)
    }
    if let matrixSet {
      self.matrixSet = matrixSet
    } else if let name = metadata.matrixSetName {
      guard let known = TileMatrixSet.named(name) ?? metadata.definedMatrixSet else {
        throw BundleError(.malformed, path: path, "its tile matrix set \"\(name)\" is not one that is known here")
      }
      self.matrixSet = known
    } else if schema.tiles == MBTilesSchema.otherGridView {
      throw BundleError(
        .malformed, path: path,
        "it has \(schema.tiles) but its metadata do not name a \(MBTilesSchema.matrixSetKey)")
    } else {
      self.matrixSet = .webMercatorQuad
    }
  }

  /// Hands a tile's bytes to a closure without copying them; nil when the bundle has no such tile. The bytes are gone when the closure returns.
  ///
  /// - Complexity: O(log tiles).
  public func withTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try withStoredTile(tile, body) }
  }

  private func withStoredTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    guard matrixSet.contains(tile) else { return nil }
    bind(tile, to: lookup)
    defer { lookup.reset() }
    guard try lookup.step() else { return nil }
    let bytes = lookup.bytes(0)
    // NULL and empty blobs are tiles that are not there.
    return bytes.isEmpty ? nil : try body(bytes)
  }

  /// Binds zoom, column and the file's row to the first three parameters.
  func bind(_ tile: TileID, to statement: SQLiteStatement) {
    statement.bind(tile.zoom, at: 1)
    statement.bind(tile.column, at: 2)
    statement.bind(MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight), at: 3)
  }

  public func withResidentTile(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> ResidentRead {
    guard let residentFile else { return .wouldWait }
    residentFile.setMayWait(false)
    // A table without index, or a view that counts to infinity, is no work for an event loop either.
    connection.limitWork(to: 20_000)
    defer {
      residentFile.setMayWait(true)
      connection.limitWork(to: nil)
    }
    do {
      return try withStoredTile(tile, body) == nil ? .absent : .found
    } catch let error as SQLiteError {
      if error.code == ResidentFileSystem.wouldWait || error.isInterrupted { return .wouldWait }
      throw BundleAccess.bundleError(error, path: path)
    }
  }

  /// Runs a query; its failures become errors that name the bundle.
  package func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw BundleAccess.bundleError(error, path: path)
    }
  }

  /// Nobody has that many, but a view may have rows without end.
  private static let metadataRowsMax = 1000

  private static func readMetadata(_ connection: SQLiteConnection) throws -> StoredMetadata {
    let columns = try BundleSchema.columns(of: "metadata", connection)
    guard columns["name"] != nil, columns["value"] != nil else { return StoredMetadata([]) }
    let statement = try connection.prepare("SELECT name, value FROM metadata LIMIT \(metadataRowsMax)")
    var entries: [StoredMetadata.Entry] = []
    while try statement.step() {
      entries.append(StoredMetadata.Entry(name: statement.text(0) ?? "", value: statement.text(1) ?? ""))
    }
    return StoredMetadata(entries)
  }
}
