import Support

/// Places without an index, as all containers but MBTiles have them: each search compares all names.
package struct PlaceList: Sendable {
  /// With the words of their names, folded once, and a space before and after each.
  private let places: [(place: Place, words: String)]

  package init(_ places: [Place]) {
    self.places = places.map { ($0, " \(PlaceWords.indexed($0.name)) ") }
  }

  /// The places whose names contain all words of the query, the last as a beginning; the best first.
  ///
  /// - Complexity: O(places).
  package func search(_ query: PlaceQuery) -> [PlaceMatch] {
    let wanted = query.folded
    guard let beginning = wanted.last else { return [] }
    let found = places.filter { place in
      wanted.dropLast().allSatisfy { place.words.contains(" \($0) ") } && place.words.contains(" \(beginning)")
    }
    return query.best(of: found.map(\.place))
  }
}

/// The places of a bundle, with full-text search. For one thread at a time, as the reader it uses.
public final class PlaceIndex {
  private let table: PlaceTable
  private let hasIndex: Bool

  init(_ table: PlaceTable) {
    self.table = table
    hasIndex = table.hasIndex
  }

  /// Finds places whose names contain all words of a query, the last as a prefix; the best matches first.
  ///
  /// - Complexity: bounded: at most five million steps of SQLite's virtual machine for each of up to three queries, and
  ///   some hundred candidates. Further matches are not found.
  /// - Throws: `BundleError`; `.malformed` when the places have no index, or this SQLite no FTS5.
  public func search(_ query: PlaceQuery) throws -> [PlaceMatch] {
    guard let words = query.match else { return [] }
    guard hasIndex else {
      throw BundleError(
        .malformed, path: table.path, "its places have no index, or this SQLite has no FTS5",
        remedy: "make the bundle again, with a libsqlite3 that has FTS5")
    }
    var found: [Int: Place] = [:]
    // Rows are ordered by importance, so the first candidates of each query are its most important ones.
    try look(words.whole, into: &found)
    try look(words.beginning, into: &found)
    if let near = query.near { try look(words.beginning, around: near, into: &found) }
    return query.best(of: Array(found.values))
  }

  /// Takes a few tenths of a second at worst.
  private static let workMax = 5_000_000
  private static let candidatesMax = 300
  /// The distance in degrees to each side for a search near a position.
  private static let nearDegrees = 0.5

  private func look(
    _ match: String, around near: PlaceQuery.Coordinate? = nil, into found: inout [Int: Place]
  ) throws {
    let box =
      near == nil
      ? ""
      : """
       AND (p.longitude BETWEEN ?3 AND ?4 OR p.longitude BETWEEN ?3 - 360 AND ?4 - 360 \
      OR p.longitude BETWEEN ?3 + 360 AND ?4 + 360) AND p.latitude BETWEEN ?5 AND ?6
      """
    let connection = table.connection
    try table.reading {
      let statement = try connection.prepare(
        """
        SELECT p.id, p.name, p.kind, p.longitude, p.latitude, p.importance FROM places_index i \
        CROSS JOIN places p ON p.id = i.rowid WHERE i.places_index MATCH ?1\(box) ORDER BY i.rowid LIMIT ?2
        """)
      statement.bind(1, match)
      statement.bind(2, Self.candidatesMax)
      if let near {
        statement.bind(3, near.longitude - Self.nearDegrees)
        statement.bind(4, near.longitude + Self.nearDegrees)
        statement.bind(5, near.latitude - Self.nearDegrees)
        statement.bind(6, near.latitude + Self.nearDegrees)
      }
      do {
        try connection.limitingSteps(to: Self.workMax) {
          while try statement.step() {
            if let row = PlaceTable.Row(statement) { found[row.id] = row.place }
          }
        }
      } catch let error as SQLiteError where error.isOverBudget {
        // The places found within the limit are the answer.
      }
    }
  }
}
