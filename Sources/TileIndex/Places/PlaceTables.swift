/// The tables of places in a bundle: `places`, which any SQLite reads, and `places_index`, a full-text index over it (FTS5, external content).
/// docs/bundle-format.md describes them.
enum PlaceTables {
  static let table = "places"
  static let index = "places_index"

  /// Diacritics are folded by the tokenizer, in queries alike: `Zurich` finds `Zürich`. Prefixes of one to three characters have an index of their own.
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

  /// Writes the tables, in the order of the places. Equal places give equal bytes.
  static func write(_ places: [Place], to connection: SQLiteConnection) throws {
    for statement in statements { try connection.execute(statement) }
    let insert = try connection.prepare(
      "INSERT INTO places (id, name, kind, longitude, latitude, importance) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
    for (index, place) in places.enumerated() {
      insert.bind(index + 1, at: 1)
      try place.bind(to: insert, from: 2)
      try insert.run()
    }
    // All at once: the index is then one segment, whatever the number of places.
    try connection.execute("INSERT INTO places_index (places_index) VALUES ('rebuild')")
    try connection.execute("INSERT INTO places_index (places_index) VALUES ('optimize')")
  }

  /// True when this SQLite can search full text.
  static func canIndex(_ connection: SQLiteConnection) throws -> Bool {
    let modules = try connection.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
    return try modules.step()
  }
}
