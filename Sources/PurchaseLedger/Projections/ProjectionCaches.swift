import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of `account`. `number` is its key in other tables, in the order of opening.
package struct AccountRow: Sendable, Equatable {
  package var number: Int64
  var id: UUID
  var token: UUID
  var openedSeq: Int64
  package var erasedSeq: Int64?
}

/// Reads and writes accounts; caches those read within one database transaction.
struct AccountCache {
  private var byToken: [UUID: AccountRow?] = [:]
  private var byNumber: [Int64: AccountRow] = [:]
  private let selectByToken: SQLiteStatement
  private let selectByNumber: SQLiteStatement
  private let selectByID: SQLiteStatement
  private let insertAccount: SQLiteStatement
  private let eraseAccount: SQLiteStatement
  /// The sequence number of the latest erasure of any account, 0 if there is none.
  private(set) var lastErasure: Int64

  init(_ db: SQLiteConnection) throws {
    let columns = "SELECT number, id, token, opened_seq, erased_seq FROM account"
    selectByToken = try db.cached(columns + " WHERE token = ?")
    selectByNumber = try db.cached(columns + " WHERE number = ?")
    selectByID = try db.cached(columns + " WHERE id = ?")
    insertAccount = try db.cached("INSERT INTO account (id, token, opened_seq) VALUES (?, ?, ?)")
    eraseAccount = try db.cached("UPDATE account SET erased_seq = ? WHERE id = ?")
    lastErasure =
      try db.cached("SELECT max(erased_seq) FROM account WHERE erased_seq IS NOT NULL")
      .first { $0.int64(0) } ?? 0
  }

  static func read(_ row: SQLiteStatement) -> AccountRow? {
    guard let id = row.uuid(1), let token = row.uuid(2) else { return nil }
    return AccountRow(
      number: row.int64(0), id: id, token: token, openedSeq: row.int64(3), erasedSeq: row.optionalInt64(4))
  }

  mutating func account(token: UUID) throws -> AccountRow? {
    if let known = byToken[token] { return known }
    selectByToken.bind(1, token)
    let account = try selectByToken.first(Self.read) ?? nil
    byToken[token] = .some(account)
    return account
  }

  mutating func account(number: Int64) throws -> AccountRow? {
    if let known = byNumber[number] { return known }
    selectByNumber.bind(1, number)
    guard let account = try selectByNumber.first(Self.read) ?? nil else { return nil }
    byNumber[number] = account
    return account
  }

  func account(id: AccountID) throws -> AccountRow? {
    selectByID.bind(1, id.uuid)
    return try selectByID.first(Self.read) ?? nil
  }

  mutating func open(_ id: AccountID, token: AccountToken, seq: Int64) throws {
    insertAccount.bind(1, id.uuid)
    insertAccount.bind(2, token.uuid)
    insertAccount.bind(3, seq)
    try insertAccount.run()
    byToken[token.uuid] = nil
  }

  mutating func erase(_ id: AccountID, seq: Int64) throws {
    eraseAccount.bind(1, seq)
    eraseAccount.bind(2, id.uuid)
    try eraseAccount.run()
    byToken.removeAll()
    byNumber.removeAll()
    lastErasure = seq
  }
}

/// A row of `claim`: an account presented evidence of a transaction.
struct ClaimRow: Sendable, Equatable {
  var seq: Int64
  var account: Int64
  /// 0 for bind, 1 for transfer, 2 for an operator's decision.
  var mode: UInt8

  static let assigned: UInt8 = 2
}

/// Reads and writes claims; caches those of the batch's transactions.
struct ClaimCache {
  private var byTransaction: [RowKey: [ClaimRow]] = [:]
  /// Whether there are any claims: imported archives usually have none, which saves a query for each transaction.
  private var hasAny: Bool
  private let select: SQLiteStatement
  private let insert: SQLiteStatement

  init(_ db: SQLiteConnection) throws {
    hasAny = try db.cached("SELECT EXISTS (SELECT 1 FROM claim)").first { $0.int64(0) != 0 } ?? false
    select = try db.cached(
      """
      SELECT seq, account, mode FROM claim WHERE store = ? AND environment = ? AND transaction_id = ? ORDER BY seq
      """)
    insert = try db.cached(
      "INSERT INTO claim (store, environment, transaction_id, seq, account, mode) VALUES (?, ?, ?, ?, ?, ?)")
  }

  mutating func claims(of key: RowKey) throws -> [ClaimRow] {
    guard hasAny else { return [] }
    if let known = byTransaction[key] { return known }
    select.bind(1, key)
    let claims = try select.all {
      ClaimRow(seq: $0.int64(0), account: $0.int64(1), mode: UInt8(truncatingIfNeeded: $0.int64(2)))
    }
    byTransaction[key] = claims
    return claims
  }

  mutating func add(_ claim: ClaimRow, to key: RowKey) throws {
    insert.bind(1, key)
    insert.bind(4, claim.seq)
    insert.bind(5, claim.account)
    insert.bind(6, claim.mode)
    try insert.run()
    hasAny = true
    byTransaction[key] = nil
  }

  mutating func forget() { byTransaction.removeAll(keepingCapacity: true) }
}

/// Finds out whether a Google purchase known by its token alone has an order id too: a pending purchase has none and
/// gets one when it is paid.
struct OrderTokens {
  /// The orders of this batch by the key that their purchase has while only its token is known.
  private var noted: [RowKey: Orders] = [:]
  /// Orders of this batch whose token differs from the stored one.
  private var moved: Set<RowKey> = []
  /// Whether any purchase is known by its token alone: hardly any is, which saves a query for each order.
  private var hasTokenOnly: Bool
  private let select: SQLiteStatement

  init(_ db: SQLiteConnection) throws {
    hasTokenOnly =
      try db.cached(Self.selectTokenOnly).first { $0.int64(0) != 0 } ?? false
    select = try db.cached(Self.selectOrder)
  }

  static let selectTokenOnly = "SELECT EXISTS (SELECT 1 FROM store_transaction WHERE \(LedgerSchema.isTokenOnly))"

  /// The orders of an environment with a token, which is bound twice. The plus sign keeps SQLite from substituting the
  /// token into the index's expression, which would prevent the use of the index.
  static let selectOrder = """
    SELECT transaction_id FROM store_transaction WHERE \(LedgerSchema.isOrder) AND environment = ?
    AND \(LedgerSchema.tokenEnd) = substr(?, -12) AND +purchase_token = ?
    """

  /// Records a row's token.
  ///
  /// - Returns: The key of the same purchase known by its token alone, whose grant may change; nil if there is none.
  mutating func note(_ row: TransactionRow) -> RowKey? {
    guard row.key.store == Store.google.code, let token = row.purchaseToken else { return nil }
    if token == row.key.id {
      hasTokenOnly = true
      return nil
    }
    let key = row.key.with(id: token)
    noted[key, default: Orders()].insert(row.key)
    return hasTokenOnly ? key : nil
  }

  /// Removes the old token of a row that has another one now.
  ///
  /// - Returns: The same as `note`, for the old token.
  mutating func forget(_ old: TransactionRow, for row: TransactionRow) -> RowKey? {
    guard old.key.store == Store.google.code, let token = old.purchaseToken, token != row.purchaseToken,
      token != old.key.id
    else { return nil }
    let key = old.key.with(id: token)
    noted[key]?.remove(old.key)
    // The stored token is outdated; if the row gets this token back, `note` records it.
    moved.insert(old.key)
    return hasTokenOnly ? key : nil
  }

  /// Whether a purchase known by its token alone has an order id too.
  func has(_ row: TransactionRow) throws -> Bool {
    if noted[row.key]?.isEmpty == false { return true }
    select.bind(1, row.key.environment)
    select.bind(2, row.key.id)
    select.bind(3, row.key.id)
    if moved.isEmpty { return try select.first { _ in true } ?? false }
    return try select.all { row.key.with(id: $0.text(0)) }.contains { !moved.contains($0) }
  }

  /// The orders with one token: nearly always one, which needs no set.
  private struct Orders {
    private var first: RowKey?
    private var others: Set<RowKey> = []

    var isEmpty: Bool { first == nil }

    mutating func insert(_ key: RowKey) {
      if first == nil { first = key } else if first != key { others.insert(key) }
    }

    mutating func remove(_ key: RowKey) {
      if first == key { first = others.popFirst() } else { others.remove(key) }
    }
  }

  /// Clears the batch after its rows were written.
  mutating func forget() {
    noted.removeAll(keepingCapacity: true)
    moved.removeAll(keepingCapacity: true)
  }
}

extension TransactionRow {
  /// Whether this is a Google purchase known by its token alone, without an order id.
  var isTokenOnly: Bool { key.store == Store.google.code && purchaseToken == key.id }
}
