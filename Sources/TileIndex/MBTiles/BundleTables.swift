import CSQLite
import Support

/// The tables of an MBTiles bundle that is being written: one connection, one transaction.
///
/// Unchecked, because the writer uses it only under its mutex.
final class BundleTables: TileTables, @unchecked Sendable {
  private let connection: SQLiteConnection
  /// Nil until the page size is decided.
  private var statements: Statements?
  private let matrixSet: TileMatrixSet
  private let fixedPageBytes: Int?
  private var packing: PagePacking?
  private var pending = PendingTiles()
  private var duplicates = DuplicateTable()
  private var addresses = AddressFilter()
  private(set) var coverage = TileCoverage()
  private(set) var imageCount = 0
  private(set) var imageBytes = 0
  var places: [Place]?

  private struct Statements {
    let insertTile, insertImage, selectImage, selectTile: SQLiteStatement
  }

  /// - Parameter pageBytes: nil chooses the page size when the first tiles are known.
  init(path: String, matrixSet: TileMatrixSet, pageBytes: Int?) throws {
    self.matrixSet = matrixSet
    fixedPageBytes = pageBytes
    connection = try SQLiteConnection(bundleToWrite: path)
  }

  /// Creates the tables.
  private func create(pageBytes: Int) throws -> Statements {
    let isMercator = matrixSet == .webMercatorQuad
    try connection.beginBundle(pageBytes: pageBytes)
    try connection.execute("PRAGMA application_id = \(isMercator ? MBTilesSchema.applicationID : 0)")
    let view = isMercator ? MBTilesSchema.mercatorView : MBTilesSchema.otherGridView
    for statement in MBTilesSchema.statements(tilesView: view) { try connection.execute(statement) }
    return Statements(
      insertTile: try connection.prepare(
        "INSERT INTO map (zoom_level, tile_column, tile_row, tile_id) VALUES (?1, ?2, ?3, ?4)"),
      insertImage: try connection.prepare("INSERT INTO images (tile_id, tile_data) VALUES (?1, ?2)"),
      selectImage: try connection.prepare("SELECT tile_data FROM images WHERE tile_id = ?1"),
      selectTile: try connection.prepare(
        "SELECT 1 FROM map WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3"))
  }

  static let usesHashes = true

  /// Stores a tile; false when its address is taken. The tile is held back until its place is known, with a few hundred
  /// others.
  func insert(_ tile: TileID, _ data: UnsafeRawBufferPointer, hash: UInt64?) throws -> Bool {
    if addresses.mayContain(tile) {
      guard try !pending.contains(tile) && !isStored(tile) else { return false }
    }
    let hash = hash ?? ContentHash.hash(data)
    if let waiting = pending.image(hash, data) {
      pending.append(tile, .waiting(waiting))
    } else if let known = try duplicates.find(hash, isSame: { image in try isImage(image, equalTo: data) }) {
      pending.append(tile, .stored(known))
    } else {
      pending.append(tile, data, hash: hash)
      imageCount += 1
      imageBytes += data.count
    }
    addresses.insert(tile)
    coverage.insert(tile)
    if pending.isFull { try flush(isLast: false) }
    return true
  }

  /// Writes the tiles that were held back: images in an order that fills pages, rows of the map as they came.
  private func flush(isLast: Bool) throws {
    let sizes = pending.images.map(\.range.count)
    let statements: Statements
    if let open = self.statements {
      statements = open
    } else {
      let pageBytes = fixedPageBytes ?? PagePacking.pageBytes(for: sizes, isAll: isLast)
      statements = try create(pageBytes: pageBytes)
      self.statements = statements
      packing = PagePacking(pageBytes: pageBytes)
    }
    let first = imageCount - sizes.count + 1
    var ids = [Int](repeating: 0, count: sizes.count)
    for (place, index) in packing!.order(sizes).enumerated() {
      let image = pending.images[index]
      ids[index] = first + place
      statements.insertImage.bind(1, first + place)
      try pending.withBytes(of: image) {
        statements.insertImage.bind(2, uncopied: $0)
        try statements.insertImage.run()
      }
      duplicates.insert(image.hash, image: first + place)
    }
    for (tile, image) in pending.tiles {
      bind(tile, statements.insertTile)
      switch image {
      case .stored(let id): statements.insertTile.bind(4, id)
      case .waiting(let index): statements.insertTile.bind(4, ids[index])
      }
      try statements.insertTile.run()
    }
    pending.removeAll()
  }

  /// Writes places and metadata and commits. The connection closes with this object.
  func finish(_ rows: [(name: String, value: String)]) throws {
    try flush(isLast: true)
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
  func canStorePlaces() throws -> Bool { try PlaceTables.canIndex(connection) }

  private func isStored(_ tile: TileID) throws -> Bool {
    guard let select = statements?.selectTile else { return false }
    bind(tile, select)
    defer { select.reset() }
    return try select.step()
  }

  private func bind(_ tile: TileID, _ statement: SQLiteStatement) {
    statement.bind(1, tile.zoom)
    statement.bind(2, tile.column)
    statement.bind(3, MBTilesRow.flipped(tile.row, matrixHeight: matrixSet[tile.zoom].matrixHeight))
  }

  private func isImage(_ image: Int, equalTo data: UnsafeRawBufferPointer) throws -> Bool {
    guard let select = statements?.selectImage else { return false }
    select.bind(1, image)
    defer { select.reset() }
    guard try select.step() else { return false }
    return select.bytes(0).isSame(as: data)
  }
}

/// Says of most addresses that were not inserted that they were not, without a look into the file (a Bloom filter of
/// two bits an address). Of a million 2% are looked up all the same, of ten million 50%.
private struct AddressFilter {
  private static let bitCount: UInt64 = 1 << 24
  private var words = [UInt64](repeating: 0, count: Int(bitCount / 64))

  private func bits(_ tile: TileID) -> (UInt64, UInt64) {
    // Odd constants with about half of their bits set; the upper bits of the products are well mixed.
    let key = UInt64(tile.zoom) << 58 ^ UInt64(tile.column) << 29 ^ UInt64(tile.row)
    let mixed = (key &* 0x9e37_79b9_7f4a_7c15) ^ (key &* 0xc2b2_ae3d_27d4_eb4f) >> 29
    let product = mixed &* 0xbf58_476d_1ce4_e5b9
    return (product >> 40, (product >> 8) & (Self.bitCount - 1))
  }

  mutating func insert(_ tile: TileID) {
    let (first, second) = bits(tile)
    words[Int(first >> 6)] |= 1 << (first & 63)
    words[Int(second >> 6)] |= 1 << (second & 63)
  }

  func mayContain(_ tile: TileID) -> Bool {
    let (first, second) = bits(tile)
    return words[Int(first >> 6)] >> (first & 63) & 1 == 1 && words[Int(second >> 6)] >> (second & 63) & 1 == 1
  }
}

/// Tiles that are held back until enough are known to fill pages with them.
private struct PendingTiles {
  enum Image {
    /// By its id in the file.
    case stored(Int)
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

  /// - Complexity: O(tiles).
  func contains(_ tile: TileID) -> Bool { tiles.contains { $0.id == tile } }

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
