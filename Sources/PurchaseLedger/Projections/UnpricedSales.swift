import Support

/// Finds sales whose postings have no usable amount. Postings of 0 are right for what was given, shared or restored,
/// and wrong for what was paid for at a price that nobody states.
struct UnpricedSales {
  private let db: SQLiteConnection
  private let selectRow: SQLiteStatement

  init(_ db: SQLiteConnection) throws {
    self.db = db
    selectRow = try db.cached(
      """
      SELECT \(TransactionRow.columns) FROM store_transaction
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """)
  }

  /// Why the amount of a transaction's postings is not what was paid; nil if it is.
  func reason(_ key: RowKey) throws -> String? {
    guard let row = try row(key) else { return nil }
    // A test costs nothing.
    if let test = key.testOrder, try self.row(test) != nil { return nil }
    return Posting.unpricedReason(row, original: row.isOriginal ? nil : try self.row(row.grant))
  }

  /// The sales of the production environment without a usable price.
  func count() throws -> Int {
    let keys = try db.cached(
      "SELECT store, environment, transaction_id, amount, currency FROM posting WHERE entry = 1 AND environment = 1")
    defer { keys.reset() }
    var count = 0
    while try keys.step() {
      guard Self.isDoubtful(amount: keys.int64(3), currency: keys.text(4)) else { continue }
      if try reason(RowKey(keys)) != nil { count += 1 }
    }
    return count
  }

  /// Whether a posting's transaction has to be looked at.
  static func isDoubtful(amount: Int64, currency: String) -> Bool {
    amount == 0 || !Money(milliunits: amount, currency: currency).namesCurrency
  }

  private func row(_ key: RowKey) throws -> TransactionRow? {
    selectRow.bind(1, key)
    return try selectRow.first { TransactionRow($0) }
  }
}
