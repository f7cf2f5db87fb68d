import CSQLite
import Support

/// The tables of a bundle that is being written: one connection, one transaction, no journal, because an incomplete
/// file is discarded anyway.
///
/// Unchecked, because the writer uses it only under its mutex.
final class BundleTables: @unchecked Sendable {
  /// SQLite's own page cache; pages that do not fit are written to the file, where the system caches them.
  private static let cacheKibibytes = 8000

  private let connection: SQLiteConnection
  private let insertTile: SQLiteStatement
  private let insertImage: SQLiteStatement
  private let selectImage: SQLiteStatement
  private let matrixSet: TileMatrixSet
  private var duplicates = DuplicateTable()
  private(set) var coverage = TileCoverage()
  private(set) var imageCount = 0
  private(set) var imageBytes = 0
  /// Written last, so that the file does not depend on when they were given.
  var places: [Place]?

  init(path: String, matrixSet: TileMatrixSet, pageBytes: Int) throws {
    self.matrixSet = matrixSet
    let isMercator = matrixSet == .webMercatorQuad
    connection = try SQLiteConnection(
      uri: SQLiteConnection.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE)
    try connection.execute("PRAGMA page_size = \(pageBytes)")
    try connection.execute("PRAGMA encoding = 'UTF-8'")
    try connection.execute("PRAGMA auto_vacuum = NONE")
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute("PRAGMA journal_mode = OFF")
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.execute("PRAGMA temp_store = MEMORY")
    try connection.execute("PRAGMA mmap_size = 0")
    try connection.execute("PRAGMA cache_size = -\(Self.cacheKibibytes)")
    try connection.execute("BEGIN EXCLUSIVE")
    try connection.execute("PRAGMA application_id = \(isMercator ? MBTilesSchema.applicationID : 0)")
    let view = isMercator ? MBTilesSchema.mercatorView : MBTilesSchema.otherGridView
    for statement in MBTilesSchema.statements(tilesView: view) { try connection.execute(statement) }
    insertTile = try connection.prepare(
      "INSERT INTO map (zoom_level, tile_column, tile_row, tile_id) VALUES (?1, ?2, ?3, ?4)")
    insertImage = try connection.prepare("INSERT INTO images (tile_id, tile_data) VALUES (?1, ?2)")
    selectImage = try connection.prepare("SELECT tile_data FROM images WHERE tile_id = ?1")
  }

  /// Stores a tile; false when its address is taken.
  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer) throws -> Bool {
    let hash = ContentHash.hash(data)
    let known = try duplicates.find(hash) { image in try isImage(image, equalTo: data) }
    let image = known ?? imageCount + 1
    // The map row comes first: if the address is taken, no image is left without a tile.
    insertTile.bind(1, tile.zoom)
    insertTile.bind(2, tile.column)
    insertTile.bind(3, MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight))
    insertTile.bind(4, image)
    do {
      try insertTile.run()
    } catch let error as SQLiteError where error.isConstraint {
      return false
    }
    if known == nil {
      insertImage.bind(1, image)
      insertImage.bind(2, uncopied: data)
      try insertImage.run()
      duplicates.insert(hash, image: image)
      imageCount = image
      imageBytes += data.count
    }
    coverage.insert(tile)
    return true
  }

  /// Writes places and metadata and commits. The connection closes with this object.
  func finish(_ rows: [(name: String, value: String)]) throws {
    if let places { try PlaceTables.write(places, to: connection) }
    let insert = try connection.prepare("INSERT INTO metadata (name, value) VALUES (?1, ?2)")
    for row in rows {
      insert.bind(1, row.name)
      insert.bind(2, row.value)
      try insert.run()
    }
    try connection.execute("COMMIT")
  }

  /// True when this SQLite can index places.
  func canIndexPlaces() throws -> Bool { try PlaceTables.canIndex(connection) }

  private func isImage(_ image: Int, equalTo data: UnsafeRawBufferPointer) throws -> Bool {
    selectImage.bind(1, image)
    defer { selectImage.reset() }
    guard try selectImage.step() else { return false }
    return selectImage.bytes(0).isSame(as: data)
  }
}
