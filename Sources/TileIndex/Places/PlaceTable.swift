package import Support

/// A place as consecutive columns of a row: name, kind, longitude, latitude, importance.
extension Place {
  /// Reads the columns of a result row without checking them; see ``fault``.
  package init(_ statement: SQLiteStatement, from column: Int32) {
    self.init(
      name: statement.text(column), kind: statement.text(column + 1),
      longitude: statement.double(column + 2), latitude: statement.double(column + 3),
      importance: statement.double(column + 4))
  }

  /// Binds the members to consecutive parameters of a statement.
  func bind(to statement: SQLiteStatement, from parameter: Int32) {
    statement.bind(parameter, name)
    statement.bind(parameter + 1, kind)
    statement.bind(parameter + 2, longitude)
    statement.bind(parameter + 3, latitude)
    statement.bind(parameter + 4, importance)
  }
}

/// The table of places of an opened database. For one thread at a time, as the reader it belongs to.
///
/// Places are two tables (docs/reference/bundle-format.md): `places`, which any SQLite reads, and `places_index`, a
/// full-text index over the names (FTS5 with external content). The list is part of a bundle's content, which extracts,
/// merges and patches carry over; `PlaceIndex` searches it.
public struct PlaceTable {
  let path: String
  let connection: SQLiteConnection
  private let guarded: (() throws -> Void) throws -> Void

  /// Nil for a bundle without places.
  ///
  /// - Parameters:
  ///   - path: of the bundle, for errors.
  ///   - guarded: runs a query; checks that what it read is of one state, and names the bundle in errors.
  /// - Throws: ``BundleError``.
  init?(path: String, _ connection: SQLiteConnection, guarded: @escaping (() throws -> Void) throws -> Void) throws {
    (self.path, self.connection, self.guarded) = (path, connection, guarded)
    let columns = try reading { try connection.columns(of: PlaceTables.table) }
    guard Self.columns.allSatisfy({ columns[$0] != nil }) else { return nil }
  }

  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    var result: Result?
    try guarded { result = try body() }
    return result!
  }

  private static let columns = ["id", "name", "kind", "longitude", "latitude", "importance"]

  /// True when the names are indexed and this SQLite has FTS5, without which the index cannot be read.
  package var hasIndex: Bool {
    (try? connection.columns(of: PlaceTables.index))?["name"] != nil
  }

  func places() throws -> StoredPlaces {
    let statement = try reading {
      try connection.prepare("SELECT id, name, kind, longitude, latitude, importance FROM places ORDER BY id")
    }
    var places = StoredPlaces(of: path)
    try MetadataLimits.reading("a place", of: path, connection) {
      while try reading({ try statement.step() }) {
        try places.add(Place(statement, from: 1))
      }
    }
    return places
  }

  /// A valid place and its id.
  package struct Row {
    package let id: Int
    package let place: Place

    /// Reads `id, name, kind, longitude, latitude, importance`; nil for a row that is not a valid place.
    package init?(_ statement: SQLiteStatement) {
      let place = Place(statement, from: 1)
      guard place.fault == nil else { return nil }
      (id, self.place) = (statement.int(0), place)
    }
  }
}

/// The definition of the tables, and how they are written.
enum PlaceTables {
  static let table = "places"
  static let index = "places_index"

  /// The index has the names as ``PlaceWords`` folds them, and so do queries. Prefixes of one to three characters have
  /// their own index. Earlier bundles have the names as they are, folded by the tokenizer alone.
  static let statements = [
    """
    CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, longitude REAL NOT NULL, \
    latitude REAL NOT NULL, importance REAL NOT NULL)
    """,
    """
    CREATE VIRTUAL TABLE places_index USING fts5(name, content='places', content_rowid='id', columnsize=0, \
    prefix='1 2 3', tokenize='unicode61 remove_diacritics 2')
    """,
  ]

  /// Writes both tables in the order of the places. Equal lists give equal bytes.
  static func write(_ places: [Place], to connection: SQLiteConnection) throws {
    for statement in statements { try connection.execute(statement) }
    let insert = try connection.prepare(
      "INSERT INTO places (id, name, kind, longitude, latitude, importance) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
    for (index, place) in places.enumerated() {
      insert.bind(1, index + 1)
      place.bind(to: insert, from: 2)
      try insert.run()
    }
    let indexed = try connection.prepare("INSERT INTO places_index (rowid, name) VALUES (?1, ?2)")
    for (index, place) in places.enumerated() {
      indexed.bind(1, index + 1)
      indexed.bind(2, PlaceWords.indexed(place.name))
      try indexed.run()
    }
    // A single segment, whatever their number.
    try connection.execute("INSERT INTO places_index (places_index) VALUES ('optimize')")
  }

  /// True when this SQLite has FTS5.
  static func canIndex(_ connection: SQLiteConnection) throws -> Bool {
    let modules = try connection.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
    return try modules.step()
  }
}
