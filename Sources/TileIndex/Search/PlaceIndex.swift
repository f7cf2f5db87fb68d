/// The places of a bundle: the whole list, and a search in it. For one thread at a time, as the reader that it uses.
public final class PlaceIndex {
  let bundle: MBTilesReader
  private let hasIndex: Bool

  /// Nil for a bundle without places, and for one that is no MBTiles.
  ///
  /// - Throws: ``BundleError``.
  public init?(_ bundle: any BundleReader) throws {
    guard let bundle = bundle as? MBTilesReader else { return nil }
    let columns = try bundle.reading { try BundleSchema.columns(of: PlaceTables.table, bundle.connection) }
    guard Self.columns.allSatisfy({ columns[$0] != nil }) else { return nil }
    // Without FTS5 the index is a table that nobody can read.
    hasIndex = (try? BundleSchema.columns(of: PlaceTables.index, bundle.connection))?["name"] != nil
    self.bundle = bundle
  }

  private static let columns = ["id", "name", "kind", "longitude", "latitude", "importance"]
  static let selection = "SELECT id, name, kind, longitude, latitude, importance FROM places"

  /// How many places there are.
  public func count() throws -> Int {
    try bundle.reading {
      let statement = try bundle.connection.prepare("SELECT count(*) FROM places")
      return try statement.step() ? statement.int(0) : 0
    }
  }

  /// All places in the order of the table, the most important first in bundles of ours. Rows that are no places are left out.
  public func places() throws -> [Place] {
    var places: [Place] = []
    try forEachPlace { places.append($0.place) }
    return places
  }

  /// A row of the table.
  struct Row {
    let id: Int
    let place: Place

    init?(_ statement: SQLiteStatement) {
      let place = Place(statement, from: 1)
      guard place.fault == nil else { return nil }
      (id, self.place) = (statement.int(0), place)
    }
  }

  func forEachPlace(_ body: (Row) throws -> Void) throws {
    let statement = try bundle.reading { try bundle.connection.prepare("\(Self.selection) ORDER BY id") }
    while try bundle.reading({ try statement.step() }) {
      if let row = Row(statement) { try body(row) }
    }
  }

  /// Looks for places whose names have all the words of a query, the last as a beginning; the best first.
  ///
  /// - Complexity: bounded: at most ``workMax`` steps of SQLite's machine for each of up to three looks, and some hundred candidates. What is not found
  ///   within them is left out.
  /// - Throws: ``BundleError``; `.malformed` where the places have no index, or this SQLite no FTS5.
  public func search(_ query: PlaceQuery) throws -> [PlaceMatch] {
    guard let words = query.match else { return [] }
    guard hasIndex else {
      throw BundleError(
        .malformed, path: bundle.path, "its places have no index, or this SQLite has no FTS5",
        remedy: "make the bundle again, with a libsqlite3 that has FTS5")
    }
    var found: [Int: Place] = [:]
    // Rows lie in the order of importance, so the first candidates of each look are the most important of their kind.
    try look(words.whole, into: &found)
    try look(words.beginning, into: &found)
    if let near = query.near { try look(words.beginning, around: near, into: &found) }
    return query.best(of: Array(found.values))
  }

  /// A few tenths of a second at worst.
  private static let workMax: Int32 = 5_000_000
  private static let candidatesMax = 300
  /// Degrees to each side, where nearness is asked for.
  private static let nearDegrees = 0.5

  private func look(
    _ match: String, around near: PlaceQuery.Coordinate? = nil, into found: inout [Int: Place]
  ) throws {
    let box =
      near == nil
      ? "" : " AND p.longitude BETWEEN ?3 AND ?4 AND p.latitude BETWEEN ?5 AND ?6"
    do {
      let statement = try bundle.connection.prepare(
        """
        SELECT p.id, p.name, p.kind, p.longitude, p.latitude, p.importance FROM places_index i \
        CROSS JOIN places p ON p.id = i.rowid WHERE i.places_index MATCH ?1\(box) ORDER BY i.rowid LIMIT ?2
        """)
      try statement.bind(match, at: 1)
      statement.bind(Self.candidatesMax, at: 2)
      if let near {
        statement.bind(near.longitude - Self.nearDegrees, at: 3)
        statement.bind(near.longitude + Self.nearDegrees, at: 4)
        statement.bind(near.latitude - Self.nearDegrees, at: 5)
        statement.bind(near.latitude + Self.nearDegrees, at: 6)
      }
      bundle.connection.limitWork(to: Self.workMax)
      defer { bundle.connection.limitWork(to: nil) }
      while try statement.step() {
        if let row = Row(statement) { found[row.id] = row.place }
      }
    } catch let error as SQLiteError {
      // What was found in time is an answer.
      if error.isInterrupted { return }
      throw BundleAccess.bundleError(error, path: bundle.path)
    }
  }
}
