import CSQLite
import Support

/// A patch open for reading. Patches are untrusted: every value is checked, and the result is compared with what the
/// patch promises.
final class PatchFile {
  let path: String
  let info: PatchInfo
  private let database: BundleDatabase
  private var connection: SQLiteConnection { database.connection }

  /// - Throws: ``BundleError`` with `.notFound` or `.malformed`.
  init(path: String, matrixSet: TileMatrixSet?) throws {
    try Self.checkHead(path)
    let database = try BundleAccess.open(path)
    let connection = database.connection
    self.path = path
    self.database = database
    let rows = try Self.reading(path) {
      guard try Self.hasOnlyTables(connection) else {
        throw PatchInfo.damaged(path, "it has views or virtual tables, which no patch has")
      }
      return try connection.limitingValues(to: MetadataLimits.rowBytesMax) {
        let statement = try connection.prepare("SELECT name, value FROM info LIMIT 100")
        var rows: [String: String] = [:]
        while try statement.step() { rows[statement.text(0)] = statement.text(1) }
        return rows
      }
    }
    info = try PatchInfo(rows, matrixSet: matrixSet, path: path)
  }

  /// A view has rows that are in no page of the file, perhaps without end.
  private static func hasOnlyTables(_ connection: SQLiteConnection) throws -> Bool {
    try connection.prepare("SELECT 1 FROM sqlite_master WHERE type <> 'table' OR rootpage = 0 LIMIT 1")
      .first { _ in false } ?? true
  }

  /// SQLite file format, section 1.3: the application id is at byte 68, big-endian.
  private static func checkHead(_ path: String) throws {
    let head: [UInt8]
    do {
      head = try ReadOnlyFile(path).bytes(at: 0, count: 72)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch is ReadOnlyFile.NotAFile {
      throw BundleError(.malformed, path: path, "is not a plain file", remedy: "name a patch")
    }
    let id = head.dropFirst(68).reduce(0) { $0 << 8 | Int($1) }
    guard head.starts(with: BundleMagic.sqlite), head.count == 72, id == PatchTables.applicationID else {
      throw BundleError(
        .malformed, path: path, "is not a patch, or its head is damaged",
        remedy: "name the patch first, then the bundle to which it is applied")
    }
  }

  /// The numbers of added or changed tiles and of removed tiles.
  func counts() throws -> (put: Int, removed: Int) {
    try reading {
      let statement = try connection.prepare("SELECT count(*), coalesce(sum(image = 0), 0) FROM tiles")
      guard try statement.step() else { return (0, 0) }
      return (statement.int(0) - statement.int(1), statement.int(1))
    }
  }

  /// The tiles that are not taken from the base: removed and changed ones.
  func replacedTiles() throws -> Set<TileID> {
    try reading {
      let statement = try connection.prepare("SELECT zoom, tile_column, tile_row FROM tiles")
      var tiles: Set<TileID> = []
      while try statement.step() { tiles.insert(try tile(statement)) }
      return tiles
    }
  }

  /// The rows of the result's metadata; nil for a value that is equal to the base's.
  func metadata() throws -> [(name: String, value: String?)] {
    try reading {
      try connection.limitingValues(to: MetadataLimits.rowBytesMax) {
        let statement = try connection.prepare("SELECT name, value FROM metadata LIMIT \(MetadataLimits.rowsMax + 1)")
        var rows: [(name: String, value: String?)] = []
        while try statement.step() { rows.append((statement.text(0), statement.optionalText(1))) }
        guard rows.count <= MetadataLimits.rowsMax else { throw MetadataLimits.tooMany(path) }
        return rows
      }
    }
  }

  /// Iterates over the patch's tiles in order.
  struct Tiles {
    fileprivate let patch: PatchFile
    fileprivate let statement: SQLiteStatement

    /// Passes the next tile to a closure; false at the end.
    func next(_ body: (TileID, UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
      guard try patch.reading({ try statement.step() }) else { return false }
      try body(try patch.tile(statement), statement.bytes(3))
      return true
    }
  }

  func tiles() throws -> Tiles {
    try reading {
      Tiles(
        patch: self,
        statement: try connection.prepare(
          """
          SELECT zoom, tile_column, tile_row, bytes FROM tiles CROSS JOIN images USING (image) ORDER BY tiles.rowid
          """))
    }
  }

  func forEachStep(of table: String = "steps", _ body: (StepList.Step) throws -> Void) throws {
    let statement = try reading { try connection.prepare("SELECT base, count FROM \(table) ORDER BY rowid") }
    while try reading({ try statement.step() }) {
      let (base, count) = (statement.type(0) == .null ? nil : statement.int(0), statement.int(1))
      guard count > 0, count < 1 << 40, base.map({ $0 > 0 && $0 < 1 << 48 }) ?? true else {
        throw PatchInfo.damaged(path, "it has a step that leads nowhere")
      }
      try body(StepList.Step(base: base, count: count))
    }
  }

  /// The result's places; nil when they are the base's.
  func places(base: [Place]) throws -> [Place]? {
    guard try reading({ try !connection.columns(of: "place_steps").isEmpty }) else { return nil }
    let statement = try reading {
      try connection.prepare("SELECT name, kind, longitude, latitude, importance FROM places ORDER BY rowid")
    }
    var places: [Place] = []
    try forEachStep(of: "place_steps") { step in
      if let first = step.base {
        guard first - 1 + step.count <= base.count else {
          throw PatchInfo.damaged(path, "it names places that are not there")
        }
        places += base[(first - 1)..<(first - 1 + step.count)]
        return
      }
      for _ in 0..<step.count {
        guard try reading({ try statement.step() }) else { throw PatchInfo.damaged(path, "places are missing") }
        let place = Place(statement, from: 0)
        guard place.fault == nil else { throw PatchInfo.damaged(path, "one of its places \(place.fault ?? "")") }
        places.append(place)
      }
    }
    return places
  }

  private func tile(_ statement: SQLiteStatement) throws -> TileID {
    do {
      return try TileID(
        zoom: statement.int(0), column: statement.int(1), row: statement.int(2), in: info.matrixSet)
    } catch {
      throw PatchInfo.damaged(path, "\(error)")
    }
  }

  private func reading<Result>(_ body: () throws -> Result) throws -> Result { try Self.reading(path, body) }

  private static func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      if error.isIO || error.isInterrupted { throw BundleAccess.bundleError(error, path: path) }
      throw PatchInfo.damaged(path, "\(error)")
    }
  }
}

/// A bundle's file as a whole, where it is one.
enum WholeFile {
  /// The file's SHA-256; nil for a folder, and for a database whose log or journal holds changes.
  static func hash(_ path: String) throws -> String? {
    guard FileSystem.kind(path) == .file, let real = try? FileSystem.realPath(path),
      FileSystem.size(real + "-wal") == 0, FileSystem.size(real + "-journal") == 0
    else { return nil }
    return try FileHash.sha256(ofFile: path)
  }

  /// Where a database's header has the version of the SQLite that wrote it last (SQLite file format, section 1.3.22),
  /// the highest byte first.
  private static let versionOffset = 96

  static func sqliteVersion(_ path: String) -> Int? {
    guard let head = try? ReadOnlyFile(path).bytes(at: 0, count: versionOffset + 4), head.count == versionOffset + 4,
      head.starts(with: BundleMagic.sqlite)
    else { return nil }
    return head[versionOffset...].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Sets the SQLite version in a database's header. Readers ignore the number; it is set so that equal contents give
  /// equal files with any version of SQLite.
  static func setSQLiteVersion(_ version: Int, _ path: String) throws {
    let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: version >> (8 * $0)) }
    try FileSystem.write(bytes, to: path, at: versionOffset)
  }
}
