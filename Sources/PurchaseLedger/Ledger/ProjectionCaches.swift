import Foundation
import GRDB

/// Accounts met within one transaction of the database.
struct AccountCache {
  private var byToken: [UUID: AccountRow?] = [:]
  private var byNumber: [Int64: AccountRow] = [:]
  private let selectByToken: SQLStatement
  private let selectByNumber: SQLStatement
  private let selectByID: SQLStatement
  private let insertAccount: SQLStatement
  private let eraseAccount: SQLStatement
  /// The number of the latest erasure of any account, 0 if there was none.
  private(set) var lastErasure: Int64

  init(_ db: Database) throws {
    let columns = "SELECT number, id, token, opened_seq, erased_seq FROM account"
    selectByToken = try SQLStatement(db, columns + " WHERE token = ?")
    selectByNumber = try SQLStatement(db, columns + " WHERE number = ?")
    selectByID = try SQLStatement(db, columns + " WHERE id = ?")
    insertAccount = try SQLStatement(db, "INSERT INTO account (id, token, opened_seq) VALUES (?, ?, ?)")
    eraseAccount = try SQLStatement(db, "UPDATE account SET erased_seq = ? WHERE id = ?")
    lastErasure =
      try SQLStatement(db, "SELECT max(erased_seq) FROM account WHERE erased_seq IS NOT NULL")
      .first { $0.int(0) } ?? 0
  }

  static func read(_ row: borrowing SQLStatement) -> AccountRow? {
    guard let id = row.uuid(1), let token = row.uuid(2) else { return nil }
    return AccountRow(
      number: row.int(0), id: id, token: token, openedSeq: row.int(3), erasedSeq: row.optionalInt(4))
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

/// Claims of the transactions of a batch.
struct ClaimCache {
  private var byTransaction: [RowKey: [ClaimRow]] = [:]
  /// Most ledgers that are imported from archives have none, which saves a look-up for each transaction.
  private var hasAny: Bool
  private let select: SQLStatement
  private let insert: SQLStatement

  init(_ db: Database) throws {
    hasAny = try SQLStatement(db, "SELECT EXISTS (SELECT 1 FROM claim)").first { $0.int(0) != 0 } ?? false
    select = try SQLStatement(
      db,
      """
      SELECT seq, account, mode FROM claim WHERE store = ? AND environment = ? AND transaction_id = ? ORDER BY seq
      """)
    insert = try SQLStatement(
      db, "INSERT INTO claim (store, environment, transaction_id, seq, account, mode) VALUES (?, ?, ?, ?, ?, ?)")
  }

  mutating func claims(of key: RowKey) throws -> [ClaimRow] {
    guard hasAny else { return [] }
    if let known = byTransaction[key] { return known }
    select.bind(1, key)
    let claims = try select.all {
      ClaimRow(seq: $0.int(0), account: $0.int(1), mode: UInt8(truncatingIfNeeded: $0.int(2)))
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
