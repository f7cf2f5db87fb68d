/// Store, environment and id as the tables hold them: of a transaction, or of a grant by its original.
struct RowKey: Sendable, Hashable, Comparable {
  var store: UInt8
  var environment: UInt8
  var id: String

  /// The order of the tables. Ids are ASCII by rule, where Swift's order of text is that of its bytes.
  static func < (a: Self, b: Self) -> Bool {
    if a.store != b.store { return a.store < b.store }
    if a.environment != b.environment { return a.environment < b.environment }
    return a.id < b.id
  }

  func with(id: String) -> Self { Self(store: store, environment: environment, id: id) }
}

extension RowKey {
  /// Reads store, environment and id, the first three columns of a row.
  init(_ row: borrowing SQLStatement) {
    self.init(
      store: UInt8(truncatingIfNeeded: row.int(0)), environment: UInt8(truncatingIfNeeded: row.int(1)),
      id: row.text(2))
  }

  /// Nil for an environment that is never booked.
  init?(_ key: TransactionKey) {
    guard let environment = key.environment.code else { return nil }
    self.init(store: key.store.code, environment: environment, id: key.id)
  }

  /// The values behind the codes; those that no version wrote read as production of Apple, and `verify` names the row.
  var transactionKey: TransactionKey {
    TransactionKey(
      store: Store(code: store) ?? .apple, environment: StoreEnvironment(code: environment) ?? .production, id: id)
  }
}
