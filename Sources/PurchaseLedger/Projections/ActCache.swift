import Support

/// A row of `act`: what an operator did, with accounts by their numbers.
struct ActRow: Sendable, Equatable {
  var seq: Int64
  var action: Act.Action
  var account: Int64?
  var subject: String?
  var date: Int64
  var until: Int64?
}

/// Reads and writes what operators did for customers. Most ledgers have none of it, which saves the queries.
struct ActCache {
  private var hasAny: Bool
  /// Accounts that were merged into others, by number.
  private var merges: [Int64: Int64]
  private let selectByKey: SQLiteStatement
  private let selectByAccount: SQLiteStatement
  private let selectBySubject: SQLiteStatement
  private let insert: SQLiteStatement

  private static let columns = "SELECT seq, action, account, subject, date, until FROM act"

  init(_ db: SQLiteConnection) throws {
    selectByKey = try db.cached(
      Self.columns + " WHERE store = ? AND environment = ? AND transaction_id = ? ORDER BY seq")
    selectByAccount = try db.cached(Self.columns + " WHERE account = ? AND action = ? ORDER BY seq DESC LIMIT 1")
    selectBySubject = try db.cached(Self.columns + " WHERE subject = ? AND action = 'link' ORDER BY seq DESC LIMIT 1")
    insert = try db.cached(
      """
      INSERT INTO act (seq, action, store, environment, transaction_id, account, other, subject, date, until)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    hasAny = try db.cached("SELECT EXISTS (SELECT 1 FROM act)").first { $0.int64(0) != 0 } ?? false
    merges = [:]
    let all = try db.cached("SELECT account, other FROM act WHERE action = 'merge' ORDER BY seq").all {
      ($0.int64(0), $0.int64(1))
    }
    for (account, other) in all { merges[account] = other }
  }

  private static func read(_ row: SQLiteStatement) -> ActRow {
    ActRow(
      seq: row.int64(0), action: Act.Action(rawValue: row.text(1)), account: row.optionalInt64(2),
      subject: row.optionalText(3), date: row.int64(4), until: row.optionalInt64(5))
  }

  /// What was done with a purchase or granted product, in order.
  func acts(on key: RowKey) throws -> [ActRow] {
    guard hasAny else { return [] }
    selectByKey.bind(1, key)
    return try selectByKey.all(Self.read)
  }

  /// The last act of a kind for an account.
  func last(_ action: Act.Action, for account: Int64) throws -> ActRow? {
    guard hasAny else { return nil }
    selectByAccount.bind(1, account)
    selectByAccount.bind(2, action.rawValue)
    return try selectByAccount.first(Self.read)
  }

  /// The account to which an id of the app's own is linked.
  func account(linkedTo id: String) throws -> Int64? {
    guard hasAny else { return nil }
    selectBySubject.bind(1, id)
    return try selectBySubject.first(Self.read)?.account
  }

  /// The account that has everything of an account now: itself unless it was merged.
  func heir(of account: Int64) -> Int64 {
    var (heir, seen) = (account, Set([account]))
    while let next = merges[heir], seen.insert(next).inserted { heir = next }
    return heir
  }

  mutating func add(_ act: Act, seq: Int64, account: Int64?, other: Int64?) throws {
    insert.bind(1, seq)
    insert.bind(2, act.action.rawValue)
    let key = act.transaction.flatMap { RowKey($0) }
    insert.bind(3, key.map { Int64($0.store) })
    insert.bind(4, key.map { Int64($0.environment) })
    insert.bind(5, key?.id)
    insert.bind(6, account)
    insert.bind(7, other)
    insert.bind(8, act.subject)
    insert.bind(9, act.date)
    insert.bind(10, act.until)
    try insert.run()
    hasAny = true
    if act.action == .merge, let account, let other { merges[account] = other }
  }
}

/// Reads and writes what stores say of transactions beside the facts. Of several values of one name the latest counts,
/// of equally dated ones the greatest.
struct TraitCache {
  private let db: SQLiteConnection
  private var hasAny: Bool
  private let select: SQLiteStatement
  private let selectByValue: SQLiteStatement
  private let upsert: SQLiteStatement

  init(_ db: SQLiteConnection) throws {
    self.db = db
    hasAny = try db.cached("SELECT EXISTS (SELECT 1 FROM trait)").first { $0.int64(0) != 0 } ?? false
    select = try db.cached("SELECT name, value FROM trait WHERE store = ? AND environment = ? AND transaction_id = ?")
    selectByValue = try db.cached(
      "SELECT store, environment, transaction_id FROM trait WHERE name = ? AND value = ? ORDER BY 1, 2, 3")
    upsert = try db.cached(
      """
      INSERT INTO trait (store, environment, transaction_id, name, value, date) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, environment, transaction_id, name) DO UPDATE SET value = excluded.value, date = excluded.date
      WHERE (excluded.date, excluded.value) > (date, value)
      """)
  }

  /// What is said of a transaction, by name.
  func traits(of key: RowKey) throws -> [TransactionTrait.Name: String] {
    guard hasAny else { return [:] }
    select.bind(1, key)
    let rows = try select.all { (TransactionTrait.Name(rawValue: $0.text(0)), $0.text(1)) }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  /// The transactions of which the same is said.
  func keys(_ name: TransactionTrait.Name, _ value: String) throws -> [RowKey] {
    guard hasAny else { return [] }
    selectByValue.bind(1, name.rawValue)
    selectByValue.bind(2, value)
    return try selectByValue.all { RowKey($0) }
  }

  /// The app transactions.
  func apps() throws -> [RowKey] {
    try db.cached(
      "SELECT store, environment, transaction_id FROM trait WHERE name = 'originalApplicationVersion' ORDER BY 1, 2, 3"
    ).all { RowKey($0) }
  }

  mutating func add(_ trait: TransactionTrait, to key: RowKey) throws {
    upsert.bind(1, key)
    upsert.bind(4, trait.name.rawValue)
    upsert.bind(5, trait.value)
    upsert.bind(6, trait.date)
    try upsert.run()
    hasAny = true
  }
}
