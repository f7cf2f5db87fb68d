import Foundation
import GRDB

/// The people who buy: login and password, sessions, and the token that ties what they buy to them.
///
/// Events know an account only by its random ids; what names a person stands in tables that an erasure empties.
public struct Accounts: Sendable {
  let ledger: Ledger
  let cost: PasswordHash.Cost

  private static let worker = PasswordWorker()

  init(ledger: Ledger, cost: PasswordHash.Cost = .standard) {
    self.ledger = ledger
    self.cost = cost
  }

  /// Opens an account. Without a token it gets a random one; grants that already carry the token become its own.
  ///
  /// - Throws: `LedgerError` with code `login-taken`, or `account`: the token is another account's, the password too short.
  public func add(login: String, password: String, token: AccountToken? = nil) async throws -> AccountID {
    let login = try Self.normalised(login)
    try Self.check(password)
    // Before the expensive hash; it is decided within the transaction.
    guard try find(login) == nil else { throw Self.taken(login) }
    let hash = try await Self.worker.run { [cost] in try PasswordHash(of: password, cost: cost) }
    let id = AccountID.random()
    let token = token ?? AccountToken.random()
    try await ledger.commits.perform { booker in
      guard try Self.credential(booker.db, login: login) == nil else { throw Self.taken(login) }
      guard try booker.projections.accounts.account(token: token.uuid) == nil else {
        throw LedgerError(
          .account, at: login, "the appAccountToken is another account's; leave it out to get a new one")
      }
      try booker.append(.accountOpened(id, token: token))
      guard let account = try booker.projections.accounts.account(id: id) else { return }
      try Self.store(hash, of: account.number, login: login, at: booker.now, in: booker.db)
    }
    return id
  }

  /// The living account with this login or printed id; nil if there is none.
  public func find(_ loginOrID: String) throws -> AccountID? {
    try ledger.readStatement { db in
      if let id = AccountID(loginOrID) {
        let select = try SQLStatement(db, "SELECT 1 FROM account WHERE id = ? AND erased_seq IS NULL")
        select.bind(1, id.uuid)
        if try select.first({ _ in true }) != nil { return id }
      }
      guard let login = try? Self.normalised(loginOrID) else { return nil }
      return try Self.credential(db, login: login)?.id
    }
  }

  /// The token that the app hands to the store for this account.
  public func token(of account: AccountID) throws -> AccountToken? {
    try ledger.readStatement { db in
      let select = try SQLStatement(db, "SELECT token FROM account WHERE id = ?")
      select.bind(1, account.uuid)
      return try select.first { $0.uuid(0).map(AccountToken.init) } ?? nil
    }
  }

  /// All accounts, erased ones too, in the order in which they were opened.
  public func list() throws -> [AccountSummary] {
    try ledger.readStatement { db in
      try SQLStatement(
        db,
        """
        SELECT a.id, c.login, a.token, (SELECT recorded_at FROM event WHERE seq = a.opened_seq),
          (SELECT recorded_at FROM event WHERE seq = a.erased_seq)
        FROM account AS a LEFT JOIN credential AS c ON c.account = a.number ORDER BY a.number
        """
      ).all { row in
        guard let id = row.uuid(0), let token = row.uuid(2) else { return nil as AccountSummary? }
        return AccountSummary(
          id: AccountID(id), login: row.optionalText(1), token: AccountToken(token), openedAt: row.int(3),
          erasedAt: row.optionalInt(4))
      }.compactMap { $0 }
    }
  }

  /// Removes the person: login, password and sessions go, what was bought stays under the pseudonym and can be claimed anew.
  ///
  /// - Returns: whether the write-ahead log was emptied too. Who reads meanwhile keeps the rows in it; then ``emptyLog()`` is to be called later.
  @discardableResult
  public func erase(_ account: AccountID) async throws -> Bool {
    try await ledger.commits.perform { booker in
      let row = try Self.living(account, in: booker)
      try booker.append(.accountErased(account))
      for sql in ["DELETE FROM credential WHERE account = ?", "DELETE FROM session WHERE account = ?"] {
        let delete = try SQLStatement(booker.db, sql)
        delete.bind(1, row.number)
        try delete.run()
      }
    }
    return await emptyLog()
  }

  /// Empties the write-ahead log, where rows that were removed stand until then. Waits for nobody who reads or writes, so that nobody who writes has to wait for it.
  ///
  /// - Returns: false when somebody was reading or another process writing; it is to be called again then.
  public func emptyLog() async -> Bool {
    do {
      try await ledger.pool.writeWithoutTransaction { try LedgerDatabase.emptyLog($0) }
      return true
    } catch {
      return false
    }
  }

  /// Sets another password and ends all sessions.
  public func changePassword(of account: AccountID, to password: String) async throws {
    try Self.check(password)
    let hash = try await Self.worker.run { [cost] in try PasswordHash(of: password, cost: cost) }
    try await ledger.commits.perform { booker in
      let row = try Self.living(account, in: booker)
      try Self.replace(hash, of: row.number, at: booker.now, in: booker.db)
      try Self.endSessions(of: row.number, in: booker.db)
    }
  }

  static func hash<Value: Sendable>(
    isPreferred: Bool = false, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await worker.run(isPreferred: isPreferred, work)
  }

  /// The row of an account that is open.
  static func living(_ account: AccountID, in booker: Booker) throws -> AccountRow {
    guard let row = try booker.projections.accounts.account(id: account), row.erasedSeq == nil else {
      throw LedgerError(.account, at: account.description, "there is no such account; `account list` shows them")
    }
    return row
  }

  private static func taken(_ login: String) -> LedgerError {
    LedgerError(.loginTaken, at: login, "the login is taken; choose another")
  }
}

extension Ledger {
  /// The people who buy.
  public var accounts: Accounts { Accounts(ledger: self) }
}
