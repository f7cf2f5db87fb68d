/// Store, environment and id as stored in the tables: the key of a transaction, or of a grant by its original transaction.
struct RowKey: Sendable, Hashable, Comparable {
  var store: UInt8
  var environment: UInt8
  var id: String

  /// The order of the tables' primary keys. Ids are ASCII, for which Swift orders text like its bytes.
  static func < (a: Self, b: Self) -> Bool {
    if a.store != b.store { return a.store < b.store }
    if a.environment != b.environment { return a.environment < b.environment }
    return a.id < b.id
  }

  func with(id: String) -> Self { Self(store: store, environment: environment, id: id) }
}

extension RowKey {
  /// Reads store, environment and id from the first three columns of a row.
  init(_ row: borrowing SQLStatement) {
    self.init(
      store: UInt8(truncatingIfNeeded: row.int(0)), environment: UInt8(truncatingIfNeeded: row.int(1)),
      id: row.text(2))
  }

  /// Nil for an environment that is never recorded.
  init?(_ key: TransactionKey) {
    guard let environment = key.environment.code else { return nil }
    self.init(store: key.store.code, environment: environment, id: key.id)
  }

  /// The decoded key. Codes that no version wrote decode as Apple, production; `verify` reports the row.
  var transactionKey: TransactionKey {
    TransactionKey(
      store: Store(code: store) ?? .apple, environment: StoreEnvironment(code: environment) ?? .production, id: id)
  }
}

extension SQLStatement {
  /// Binds store, environment and id to three consecutive parameters.
  func bind(_ index: Int32, _ key: RowKey) {
    bind(index, key.store)
    bind(index + 1, key.environment)
    bind(index + 2, key.id)
  }
}
