import CSQLite
import Support

/// Writes a patch's file: an SQLite database with small pages, because most patches are small. See
/// docs/reference/bundle-format.md.
final class PatchTables {
  /// `MPTP`
  static let applicationID = 0x4D50_5450
  /// SQLite's minimum: six small tables take as many pages.
  private static let pageBytes = 512

  private let connection: SQLiteConnection
  private let insertTile: SQLiteStatement
  private let insertImage: SQLiteStatement
  private let selectImage: SQLiteStatement
  private let insertStep: SQLiteStatement
  private var duplicates = DuplicateTable()
  private var imageCount = 0
  private var steps = StepList()

  init(path: String) throws {
    connection = try SQLiteConnection(
      uri: SQLiteConnection.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE)
    for pragma in [
      "page_size = \(Self.pageBytes)", "encoding = 'UTF-8'", "auto_vacuum = NONE", "locking_mode = EXCLUSIVE",
      "journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY", "cache_size = -8000",
    ] { try connection.execute("PRAGMA \(pragma)") }
    try connection.execute("BEGIN EXCLUSIVE")
    try connection.execute("PRAGMA application_id = \(Self.applicationID)")
    for table in [
      "info (name TEXT, value TEXT)",
      "metadata (name TEXT, value TEXT)",
      "tiles (zoom INTEGER, tile_column INTEGER, tile_row INTEGER, image INTEGER)",
      "images (image INTEGER PRIMARY KEY, bytes BLOB)",
      "steps (base INTEGER, count INTEGER)",
    ] { try connection.execute("CREATE TABLE \(table)") }
    insertTile = try connection.prepare("INSERT INTO tiles VALUES (?1, ?2, ?3, ?4)")
    insertImage = try connection.prepare("INSERT INTO images VALUES (?1, ?2)")
    selectImage = try connection.prepare("SELECT bytes FROM images WHERE image = ?1")
    insertStep = try connection.prepare("INSERT INTO steps VALUES (?1, ?2)")
  }

  /// Adds a new or changed tile.
  func put(_ tile: TileID, _ bytes: UnsafeRawBufferPointer) throws {
    let hash = ContentHash.hash(bytes)
    let known = try duplicates.find(hash) { image in
      selectImage.bind(1, image)
      defer { selectImage.reset() }
      return try selectImage.step() && selectImage.bytes(0).isSame(as: bytes)
    }
    if known == nil {
      imageCount += 1
      insertImage.bind(1, imageCount)
      insertImage.bind(2, uncopied: bytes)
      try insertImage.run()
      duplicates.insert(hash, place: imageCount)
    }
    try insert(tile, image: known ?? imageCount)
    try step(base: nil)
  }

  /// Adds a removed tile.
  func remove(_ tile: TileID) throws { try insert(tile, image: 0) }

  /// The next tile of the result is the base's tile at this position.
  func keep(position: Int) throws { try step(base: position) }

  private func insert(_ tile: TileID, image: Int) throws {
    insertTile.bind(1, tile.zoom)
    insertTile.bind(2, tile.column)
    insertTile.bind(3, tile.row)
    insertTile.bind(4, image)
    try insertTile.run()
  }

  private func step(base: Int?) throws {
    try insert(steps.append(base), into: insertStep)
  }

  private func insert(_ step: StepList.Step?, into table: SQLiteStatement) throws {
    guard let step else { return }
    if let base = step.base { table.bind(1, base) } else { table.bindNull(1) }
    table.bind(2, step.count)
    try table.run()
  }

  /// Writes the result's places; those that the base has as steps.
  func write(_ places: [Place], base: [Place]) throws {
    try connection.execute("CREATE TABLE place_steps (base INTEGER, count INTEGER)")
    try connection.execute("CREATE TABLE places (name TEXT, kind TEXT, longitude REAL, latitude REAL, importance REAL)")
    let positions = Dictionary(base.enumerated().map { ($1, $0 + 1) }, uniquingKeysWith: { first, _ in first })
    let placeTable = try connection.prepare("INSERT INTO places VALUES (?1, ?2, ?3, ?4, ?5)")
    let stepTable = try connection.prepare("INSERT INTO place_steps VALUES (?1, ?2)")
    var steps = StepList()
    for place in places {
      try insert(steps.append(positions[place]), into: stepTable)
      guard positions[place] == nil else { continue }
      place.bind(to: placeTable, from: 1)
      try placeTable.run()
    }
    try insert(steps.last, into: stepTable)
  }

  /// Writes the remaining tables and commits.
  ///
  /// - Parameter metadata: the result's rows; nil for a value that is equal to the base's.
  func finish(_ info: PatchInfo, metadata: [(name: String, value: String?)]) throws {
    try insert(steps.last, into: insertStep)
    try insert(metadata, into: "metadata")
    try insert(info.rows.map { ($0.name, Optional($0.value)) }, into: "info")
    try connection.execute("COMMIT")
  }

  private func insert(_ rows: [(name: String, value: String?)], into table: String) throws {
    let insert = try connection.prepare("INSERT INTO \(table) VALUES (?1, ?2)")
    for row in rows {
      insert.bind(1, row.name)
      if let value = row.value { insert.bind(2, value) } else { insert.bindNull(2) }
      try insert.run()
    }
  }
}

/// Run-length encodes a sequence of base positions and new items: a step is a run of consecutive base positions, or of
/// new items.
struct StepList {
  struct Step: Hashable {
    /// The first position in the base; nil for items of the patch.
    var base: Int?
    var count: Int
  }

  /// The step that may still grow.
  private(set) var last: Step?

  /// Appends an item; returns the previous step if it is complete.
  mutating func append(_ base: Int?) -> Step? {
    if let step = last, step.base.map({ $0 + step.count }) == base {
      last?.count += 1
      return nil
    }
    defer { last = Step(base: base, count: 1) }
    return last
  }
}
