import CSQLite
import Support

/// The tables of an MBTiles bundle that is being written: `map`, which has a row for each tile, and `images`.
///
/// Unchecked, because the writer uses it only under its mutex.
final class BundleTables: TileTables, @unchecked Sendable {
  private let path: String
  /// As the caller named it, for messages.
  private let target: String
  private let matrixSet: TileMatrixSet
  private let fixedPageBytes: Int?
  /// Whether a table gets a hash of each image.
  private let storesHashes: Bool
  /// Nil until the page size is decided.
  private var tables: Tables?
  private var pending = PendingTiles()
  private var duplicates = DuplicateTable()
  private(set) var coverage = TileCoverage()
  private(set) var imageCount = 0
  var places: [Place]?

  private final class Tables {
    let database: AppendedDatabase
    let map, images: AppendedTable
    /// Nil where no hashes are stored.
    let hashes: AppendedTable?
    var packing: PagePacking

    init(_ database: AppendedDatabase, pageBytes: Int, storesHashes: Bool) {
      self.database = database
      hashes = storesHashes ? database.table(TileHashes.table) : nil
      (map, images) = (database.table("map"), database.table("images"))
      packing = PagePacking(pageBytes: pageBytes)
    }
  }

  /// - Parameters:
  ///   - path: the empty file to write.
  ///   - pageBytes: nil chooses the page size when the first tiles are known.
  ///   - hashes: whether a table gets a hash of each image (``TileHashes``).
  init(path: String, target: String, matrixSet: TileMatrixSet, pageBytes: Int?, hashes: Bool) {
    (self.path, self.target, self.matrixSet, fixedPageBytes) = (path, target, matrixSet, pageBytes)
    storesHashes = hashes
  }

  private func create(pageBytes: Int) throws -> Tables {
    let isMercator = matrixSet == .webMercatorQuad
    var appended = ["map": false, "images": true]
    if storesHashes { appended[TileHashes.table] = true }
    let database = try AppendedDatabase(
      path, target: target, pageBytes: pageBytes, tables: appended, addressTable: "map"
    ) { connection in
      try connection.execute("PRAGMA application_id = \(isMercator ? MBTilesSchema.applicationID : 0)")
      let view = isMercator ? MBTilesSchema.mercatorView : MBTilesSchema.otherGridView
      for statement in MBTilesSchema.statements(tilesView: view, hashes: storesHashes) {
        try connection.execute(statement)
      }
    }
    return Tables(database, pageBytes: pageBytes, storesHashes: storesHashes)
  }

  static let usesHashes = true

  /// True when this SQLite can index places.
  static func canStorePlaces() throws -> Bool {
    try PlaceTables.canIndex(try SQLiteConnection(uri: "", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE))
  }

  /// Stores a tile. It is held back until its place is known, with a few hundred others.
  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws {
    let hash = hash ?? ContentHash.hash(data)
    if let waiting = pending.image(hash, data) {
      pending.append(tile, .waiting(waiting))
    } else if let known = try storedImage(hash, data) {
      pending.append(tile, .stored(known))
    } else {
      pending.append(tile, data, hash: hash)
      imageCount += 1
    }
    coverage.insert(tile)
    if pending.isFull { try flush(isLast: false) }
  }

  /// The id of an image in the file; nil when it is not known.
  private func storedImage(_ hash: UInt64, _ data: UnsafeRawBufferPointer) throws -> UInt32? {
    guard let images = tables?.images else { return nil }
    var id: UInt32?
    _ = try duplicates.find(hash) { place in
      id = try images.row(on: place, with: data)
      return id != nil
    }
    return id
  }

  /// Writes the tiles that were held back: images in an order that fills pages, rows of the map as they came.
  private func flush(isLast: Bool) throws {
    let sizes = pending.images.map(\.range.count)
    let tables =
      try self.tables ?? create(pageBytes: fixedPageBytes ?? PagePacking.pageBytes(for: sizes, isAll: isLast))
    self.tables = tables
    var ids = [UInt32](repeating: 0, count: sizes.count)
    for index in tables.packing.order(sizes) {
      let image = pending.images[index]
      let place = try pending.withBytes(of: image) { try tables.images.append([], $0) }
      ids[index] = tables.images.rowCount
      // With the same row numbers.
      if let hashes = tables.hashes { try TileHashes.withBytes(of: image.hash) { _ = try hashes.append([], $0) } }
      duplicates.insert(image.hash, place: place)
    }
    for (tile, image) in pending.tiles {
      let id =
        switch image {
        case .stored(let id): id
        case .waiting(let index): ids[index]
        }
      let row = MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight)
      try tables.map.append([UInt32(tile.zoom), UInt32(tile.column), UInt32(row), id])
      try tables.database.noteAddress(zoom: tile.zoom, column: tile.column, row: row)
    }
    pending.removeAll()
  }

  func finish(_ rows: [(name: String, value: String)]) throws {
    try flush(isLast: true)
    guard let database = tables?.database else { return }
    let connection = try database.finish { again in
      let zoom = Int(again.zoom)
      let row = MBTilesRow.flipped(Int(again.row), matrixHeight: matrixSet[zoom].matrixHeight)
      return BundleError.putTwice(TileID(unchecked: zoom, Int(again.column), row), path: target)
    }
    if let places { try PlaceTables.write(places, to: connection) }
    let insert = try connection.prepare("INSERT INTO metadata (name, value) VALUES (?1, ?2)")
    for row in rows {
      insert.bind(1, row.name)
      insert.bind(2, row.value)
      try insert.run()
    }
    try connection.execute("COMMIT")
  }
}

/// Tiles that are held back until enough are known to fill pages with them.
private struct PendingTiles {
  enum Image {
    /// By its id in the file.
    case stored(UInt32)
    /// By its index in ``images``.
    case waiting(Int)
  }

  /// Enough to fill pages, and few to search and to hold.
  private static let imageCountMax = 256
  private static let bytesMax = 4 << 20
  /// Tiles that share an image hold no bytes.
  private static let tileCountMax = 4096

  private(set) var tiles: [(id: TileID, image: Image)] = []
  /// Where their bytes lie, and their hashes.
  private(set) var images: [(range: Range<Int>, hash: UInt64)] = []
  private var bytes: [UInt8] = []
  private var byHash: [UInt64: Int] = [:]

  var isFull: Bool {
    images.count >= Self.imageCountMax || bytes.count >= Self.bytesMax || tiles.count >= Self.tileCountMax
  }

  /// The image with these bytes. Of different ones with an equal hash the first is remembered.
  func image(_ hash: UInt64, _ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let index = byHash[hash], withBytes(of: images[index], { $0.isSame(as: bytes) }) else { return nil }
    return index
  }

  func withBytes<Result>(
    of image: (range: Range<Int>, hash: UInt64), _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[image.range])) }
  }

  mutating func append(_ tile: TileID, _ image: Image) {
    tiles.append((tile, image))
  }

  mutating func append(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64) {
    append(tile, .waiting(images.count))
    if byHash[hash] == nil { byHash[hash] = images.count }
    images.append((bytes.count..<(bytes.count + data.count), hash))
    bytes.append(contentsOf: data)
  }

  mutating func removeAll() {
    tiles.removeAll(keepingCapacity: true)
    images.removeAll(keepingCapacity: true)
    byHash.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }
}
