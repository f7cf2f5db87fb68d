import LibC
import Support

/// Compares a projection of the ledger with the same projection folded in a scratch database, in the order of their
/// key.
struct ProjectionComparison {
  let table: String
  let key: [String]
  /// A covering index to compare, whose columns with those of the table's key are `key`; nil compares the table.
  var index: (name: String, condition: String)?

  /// The tables, and the covering indexes from which queries are answered without the table.
  static let all =
    LedgerSchema.projections.map { Self(table: $0.table, key: $0.key) } + [
      Self(
        table: "entitlement",
        key: [
          "account", "product_id", "product_type", "status", "reason", "since", "refunded_milli", "token", "until",
          "store", "environment", "original_id",
        ], index: ("entitlement_account", "account IS NOT NULL")),
      Self(table: "account", key: ["id", "number"], index: ("sqlite_autoindex_account_1", "TRUE")),
      Self(table: "account", key: ["token", "number"], index: ("sqlite_autoindex_account_2", "TRUE")),
    ]

  /// - Parameter each: Called for each row of the ledger.
  func run(
    _ db: SQLiteConnection, _ beside: SQLiteConnection, report: inout VerifyReport, each: () -> Void = {}
  ) throws {
    // A missing index was reported by the check of the file.
    let exists = try db.cached("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?")
    exists.bind(1, index?.name)
    if index != nil, try exists.first({ _ in true }) == nil { return }
    // A file of an earlier version lacks tables, and has a view for one.
    if try !db.hasTable(table) || (index != nil && db.hasTemporary(table)) { return }
    let columns = index == nil ? try db.columns(in: table).map(\.name) : []
    let others = columns.filter { !key.contains($0) }
    let source = index.map { "\(table) INDEXED BY \($0.name) WHERE \($0.condition)" } ?? table
    let sql = "SELECT \((key + others).joined(separator: ", ")) FROM \(source) ORDER BY \(key.joined(separator: ", "))"
    let ours = try db.cached(sql)
    let folded = try beside.cached(sql)
    defer {
      ours.reset()
      folded.reset()
    }
    let keyCount = Int32(key.count)
    var hasOurs = try ours.step()
    var hasFolded = try folded.step()
    while hasOurs || hasFolded {
      let order = !hasOurs ? 1 : !hasFolded ? -1 : ours.compare(folded, columns: 0..<keyCount)
      if let index, order != 0 {
        // The comparison stops there, because the rest of a damaged index may be in another order.
        let row = location(order < 0 ? ours : folded)
        return report.find(
          "index \(index.name)", "differs from the events at \(row); `rebuild` recreates it")
      }
      if order < 0 {
        report.find(location(ours), "does not follow from the events; `rebuild` removes it")
      } else if order > 0 {
        report.find(location(folded), "is missing; `rebuild` restores it")
      } else {
        let different = others.indices.filter {
          ours.compare(folded, columns: keyCount + Int32($0)..<keyCount + Int32($0) + 1) != 0
        }
        if !different.isEmpty {
          let names = different.map { others[$0] }.joined(separator: ", ")
          report.find(location(ours), "\(names) differs from the events; `rebuild` corrects it")
        }
      }
      if order <= 0 {
        each()
        hasOurs = try ours.step()
      }
      if order >= 0 { hasFolded = try folded.step() }
    }
  }

  private func location(_ row: SQLiteStatement) -> String {
    "\(table) " + (0..<Int32(key.count)).map { row.text($0) }.joined(separator: "/")
  }
}

extension SQLiteStatement {
  /// Compares columns of this row with another's in SQLite's order: NULL, numbers, text, blobs. Negative, zero or
  /// positive. Values of different types are never equal.
  func compare(_ other: SQLiteStatement, columns: Range<Int32>) -> Int {
    for column in columns {
      let types = (type(column), other.type(column))
      if types.0 != types.1 { return types.0 < types.1 ? -1 : 1 }
      switch types.0 {
      case .null: continue
      case .integer:
        if int64(column) != other.int64(column) { return int64(column) < other.int64(column) ? -1 : 1 }
      case .real, .text, .blob:
        let order = Self.order(bytes(column), other.bytes(column))
        if order != 0 { return order }
      }
    }
    return 0
  }

  /// Compares bytes like SQLite's BINARY collation.
  static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let common = min(a.count, b.count)
    if common > 0, let a = a.baseAddress, let b = b.baseAddress {
      let order = memcmp(a, b, common)
      if order != 0 { return Int(order) }
    }
    return a.count - b.count
  }
}
