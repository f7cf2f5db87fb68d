import Support

/// Checks the database file: pages, indexes against their tables, foreign keys, the schema and the types of values.
///
/// Indexes are checked because queries are answered from them: a changed page of an index gives other answers than the
/// table.
struct FileCheck {
  private let db: SQLiteConnection

  init(_ db: SQLiteConnection) { self.db = db }

  /// - Returns: The tables whose definition is that of a ledger.
  func run(_ report: inout VerifyReport) throws -> [String] {
    let tables = try checkSchema(&report)
    try checkPages(&report)
    for row in try db.prepare("PRAGMA foreign_key_check").all({ "\($0.text(0)) \($0.int64(1))" }) {
      report.find(row, "refers to a row that does not exist")
    }
    return tables
  }

  // MARK: Types

  /// Reports values of another type than their column's. SQLite stores any type in any column; a text and a blob of the
  /// same bytes are read alike but not found by each other.
  func checkTypes(of table: String, _ report: inout VerifyReport) throws {
    let columns = try db.columns(in: table)
    let others = columns.map { (name: $0.name, isSo: "typeof(\($0.name)) NOT IN ('\($0.type.lowercased())', 'null')") }
    let names = others.map { "iif(\($0.isSo), ', \($0.name)', '')" }.joined(separator: " || ")
    // Blobs are left out of the location, because they are not readable.
    let key = columns.filter { $0.primaryKeyIndex > 0 && $0.type != "BLOB" }
      .sorted { $0.primaryKeyIndex < $1.primaryKeyIndex }.map(\.name)
    let select = try db.cached(
      """
      SELECT \(key.isEmpty ? "''" : key.joined(separator: " || '/' || ")), \(names) FROM \(table)
      WHERE \(others.map(\.isSo).joined(separator: " OR "))
      """)
    defer { select.reset() }
    while try select.step() {
      report.find(
        key.isEmpty ? table : "\(table) \(select.text(0))",
        """
        \(select.text(1).dropFirst(2)) not of the column's type; `rebuild` recreates projections, else restore a backup
        """
      )
    }
  }

  // MARK: Pages and indexes

  private func checkPages(_ report: inout VerifyReport) throws {
    let names = try roots()
    // One finding for each index or table, because a damaged page affects hundreds of rows.
    var places: [String] = []
    var messages: [String: [String]] = [:]
    for text in try db.prepare("PRAGMA integrity_check").all({ $0.text(0) }) where text != "ok" {
      for line in text.split(separator: "\n").map(String.init) where !line.hasPrefix("***") {
        let place = Self.place(line, names)
        if messages[place] == nil { places.append(place) }
        messages[place, default: []].append(line)
      }
    }
    for place in places {
      let lines = messages[place] ?? []
      let more = lines.count > 1 ? ", and \(lines.count - 1) more" : ""
      report.find(place, "is damaged (\(lines[0])\(more)); `rebuild` recreates indexes, else restore a backup")
    }
  }

  /// The index or table that a line of SQLite's integrity check names, by index name or number of the root page.
  private static func place(_ line: String, _ names: [Int64: String]) -> String {
    if let match = line.firstMatch(of: /(?:in|from) index (\S+)$/) { return "index \(match.1)" }
    if let match = line.firstMatch(of: /[Tt]ree (?:page )?(\d+)/), let page = Int64(match.1), let name = names[page] {
      return name
    }
    return "file"
  }

  private func roots() throws -> [Int64: String] {
    let rows = try db.cached("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0").all {
      ($0.int64(0), "\($0.text(1)) \($0.text(2))")
    }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Schema

  /// Compares the schema with that of a new ledger of the file's version, because a trigger or view changes what
  /// statements do without changing a row.
  private func checkSchema(_ report: inout VerifyReport) throws -> [String] {
    let ours = try Self.objects(db)
    let version = try LedgerSchema.version(of: db)
    let expected = try LedgerDatabase.scratch().write { db in
      try LedgerSchema.createPrimary(db, version: version)
      try LedgerSchema.createProjections(db, version: version)
      return try Self.objects(db)
    }
    for (name, sql) in ours.sorted(by: { $0.key < $1.key }) where expected[name] != sql {
      report.find(
        name,
        expected[name] == nil
          ? "is not part of a ledger: it was added by another program" : "is not defined as in a ledger")
    }
    for name in expected.keys.sorted() where ours[name] == nil {
      report.find(name, "is missing; restore a backup")
    }
    return expected.keys.sorted().filter { $0.hasPrefix("table ") && ours[$0] == expected[$0] }.map {
      String($0.dropFirst("table ".count))
    }
  }

  /// Definitions by type and name, without white space.
  private static func objects(_ db: SQLiteConnection) throws -> [String: String] {
    let rows = try db.cached("SELECT type, name, tbl_name, sql FROM sqlite_schema").all {
      ("\($0.text(0)) \($0.text(1))", "\($0.text(2)) " + $0.text(3).filter { !$0.isWhitespace })
    }
    return Dictionary(rows.filter { !$0.0.hasPrefix("table sqlite_stat") }, uniquingKeysWith: { $1 })
  }
}
