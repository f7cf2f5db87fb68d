public import PurchaseLedger
import Support

/// The buyers' accounts: login and password, sessions, and the token that assigns purchases to the account.
///
/// Events contain only random ids of an account; personal data is in tables from which an erasure deletes it.
public struct Accounts: Sendable {
  let ledger: Ledger
  let cost: PasswordHash.Cost

  /// Few passwords are hashed at a time, because each takes 32 MB and 0.1 s.
  static let hashing = FairQueue(runningMax: max(1, Processors.count / 2), waitingMax: 256)
  private static let known = FairQueue.Lane("known", weight: 3)
  private static let strangers = FairQueue.Lane("strangers")

  init(ledger: Ledger, cost: PasswordHash.Cost = .standard) {
    self.ledger = ledger
    self.cost = cost
  }

  /// Opens an account. Without a token it gets a random one; grants that already carry the token become its own.
  ///
  /// - Throws: `LedgerError` with code `login-taken`, or `account` if the token is another account's or the password is
  ///   too short.
  public func add(
    login: String, password: String, token: AccountToken? = nil, from network: String = ""
  ) async throws -> AccountID {
    let login = try Login(login)
    try login.checkDistinct()
    try Self.check(password)
    // A check before the expensive hash; the transaction below checks again.
    guard try find(login) == nil else { throw Self.taken(login) }
    let hash = try await Self.hash(from: network) { [cost] in try PasswordHash(of: password, cost: cost) }
    let id = AccountID.random()
    guard token?.isNil != true else {
      throw LedgerError(
        .account, at: login.folded, "the nil UUID is not a token: libraries send it for none",
        remedy: "leave it out to get a random one")
    }
    let token = token ?? AccountToken.random()
    try await ledger.commits.perform { recorder in
      guard try Self.credential(recorder.db, of: login) == nil else { throw Self.taken(login) }
      guard try recorder.account(token: token) == nil else {
        throw LedgerError(
          .account, at: login.folded, "the appAccountToken is another account's",
          remedy: "leave it out to get a new one")
      }
      try recorder.append(.accountOpened(id, token: token))
      guard let account = try recorder.account(id: id) else { return }
      try Self.store(hash, of: account, id: id, login: login.folded, in: recorder)
    }
    return id
  }

  /// The open account with this login or printed id; nil if there is none.
  public func find(_ loginOrID: String) throws -> AccountID? {
    if let id = AccountID(loginOrID) {
      let isOpen = try ledger.readStatement { db in
        let select = try db.cached("SELECT 1 FROM account WHERE id = ? AND erased_seq IS NULL")
        select.bind(1, id.uuid)
        return try select.first({ _ in true }) != nil
      }
      if isOpen { return id }
    }
    return try (try? Login(loginOrID)).flatMap(find)
  }

  /// The open account with this login; nil if there is none.
  package func find(_ login: Login) throws -> AccountID? {
    try ledger.readStatement { db in try Self.credential(db, of: login)?.id }
  }

  /// Which of its passwords an account has: greater after each change, so that what was granted under an earlier one
  /// can be refused. Nil for an account without a password, also an erased one.
  package func passwordGeneration(of account: AccountID) throws -> Int64? {
    try ledger.readStatement { db in
      let select = try db.cached(
        "SELECT c.changed_at FROM credential AS c JOIN account AS a ON a.number = c.account WHERE a.id = ?")
      select.bind(1, account.uuid)
      return try select.first { $0.int64(0) }
    }
  }

  /// The token that the app passes to the store for this account.
  public func token(of account: AccountID) throws -> AccountToken? {
    try ledger.readStatement { db in
      let select = try db.cached("SELECT token FROM account WHERE id = ?")
      select.bind(1, account.uuid)
      return try select.first { $0.uuid(0).map(AccountToken.init) } ?? nil
    }
  }

  /// All accounts, also erased ones, in the order in which they were opened.
  public func list() throws -> [AccountSummary] {
    try ledger.readStatement { db in
      try db.cached(
        """
        SELECT a.id, c.login, a.token, (SELECT recorded_at FROM event WHERE seq = a.opened_seq),
          (SELECT recorded_at FROM event WHERE seq = a.erased_seq)
        FROM account AS a LEFT JOIN credential AS c ON c.account = a.number ORDER BY a.number
        """
      ).all { row in
        guard let id = row.uuid(0), let token = row.uuid(2) else { return nil as AccountSummary? }
        return AccountSummary(
          id: AccountID(id), login: row.optionalText(1), token: AccountToken(token), openedAt: row.int64(3),
          erasedAt: row.optionalInt64(4))
      }.compactMap { $0 }
    }
  }

  /// Erases the personal data: login, password and sessions are deleted; purchases stay under the pseudonymous id and
  /// can be claimed again.
  ///
  /// - Returns: Whether the write-ahead log was emptied too. It is not while somebody reads; then call ``emptyLog()``
  ///   later.
  @discardableResult
  public func erase(_ account: AccountID) async throws -> Bool {
    try await ledger.commits.perform { recorder in
      let row = try recorder.living(account)
      try recorder.append(.accountErased(account))
      try recorder.deletePersonalData(of: row)
    }
    return await emptyLog()
  }

  /// Empties the write-ahead log, which contains deleted rows until then. Does not wait for readers or writers, so that
  /// no writer has to wait for it.
  ///
  /// - Returns: False if a reader or another process was active; then call it again later.
  public func emptyLog() async -> Bool {
    do {
      try await ledger.emptyLog()
      return true
    } catch {
      return false
    }
  }

  /// Changes the password and ends all sessions.
  public func changePassword(of account: AccountID, to password: String, from network: String = "") async throws {
    try await changePassword(of: account, to: password, from: network, because: nil)
  }

  /// The same for an operator, whose reason is recorded.
  package func changePassword(
    of account: AccountID, to password: String, from network: String = "", because why: ActReason?
  ) async throws {
    try Self.check(password)
    let hash = try await Self.hash(from: network, for: account) { [cost] in
      try PasswordHash(of: password, cost: cost)
    }
    try await ledger.commits.perform { recorder in
      let row = try recorder.living(account)
      if let why { try recorder.append(recorder.act(.password, why, account: account)) }
      try Self.replace(hash, of: row, at: recorder.now, in: recorder)
      try recorder.endSessions(of: row)
    }
  }

  /// Hashes a password when it is the turn of the network that asks, and of the account there.
  ///
  /// - Parameters:
  ///   - network: Who is charged for it; networks have equal parts of the time.
  ///   - account: Of a session or a known device. These have three quarters of the time, so that strangers cannot keep
  ///     them out.
  /// - Throws: `LedgerError` with code `busy` if too many wait and none of the others has more that wait.
  static func hash<Value: Sendable>(
    from network: String, for account: AccountID? = nil, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    do {
      return try await hashing.run(
        for: .init(account == nil ? strangers : known, network: network, account: account?.description ?? ""), work)
    } catch is FairQueue.Full {
      throw LedgerError(.busy, at: nil, "too many people sign in at once", remedy: "try again in a minute")
    }
  }

  private static func taken(_ login: Login) -> LedgerError {
    LedgerError(.loginTaken, at: login.folded, "the login is taken", remedy: "choose another")
  }
}

extension Ledger {
  /// The buyers' accounts.
  public var accounts: Accounts { Accounts(ledger: self) }
}

extension EvidenceImporter {
  /// An importer that finds the accounts that lines name by login or id.
  package init(
    into ledger: Ledger, verifier: EvidenceVerifier, identity: StoreIdentity, clock: LedgerClock,
    defaults: Defaults = Defaults()
  ) {
    self.init(into: ledger, verifier: verifier, identity: identity, clock: clock, defaults: defaults) {
      try ledger.accounts.find($0)
    }
  }
}

/// An account in a list.
public struct AccountSummary: Sendable, Hashable {
  /// The ledger's own id of the account.
  public var id: AccountID
  /// Nil if the account is erased.
  public var login: String?
  /// What the app passes to the app store with each purchase.
  public var token: AccountToken
  /// Milliseconds since 1970.
  public var openedAt: Int64
  /// Milliseconds since 1970; nil for an account that exists.
  public var erasedAt: Int64?
}

// MARK: - Logins and passwords

extension Accounts {
  /// An upper bound of a password's bytes in any normalisation form; longer input is refused without hashing it.
  static let passwordBytesMax = 16_384

  /// Checks a password's length, counted in scalars of the normalised form that is hashed.
  static func check(_ password: String) throws(LedgerError) {
    guard password.utf8.count <= passwordBytesMax,
      (8...1024).contains(UnicodeForm.nfkc(password).unicodeScalars.count)
    else { throw LedgerError(.account, at: "password", "must have 8 to 1,024 characters") }
    // All halves of surrogate pairs became this one character, so a guess would match many passwords.
    guard !password.unicodeScalars.contains("\u{fffd}") else {
      throw LedgerError(.account, at: "password", "holds a damaged character (U+FFFD)", remedy: "type it again")
    }
  }

  struct Credential: Sendable {
    var account: Int64
    var id: AccountID
    var password: PasswordHash
  }

  /// The account that has one of the login's forms.
  static func credential(_ db: SQLiteConnection, of login: Login) throws -> Credential? {
    for form in login.forms {
      if let found = try credential(db, login: form) { return found }
    }
    return nil
  }

  static func credential(_ db: SQLiteConnection, login: String) throws -> Credential? {
    let select = try db.cached(
      """
      SELECT c.account, a.id, c.salt, c.hash, c.rounds, c.block_size, c.parallelism
      FROM credential AS c JOIN account AS a ON a.number = c.account WHERE c.login = ?
      """)
    select.bind(1, login)
    return try select.first { row in
      row.uuid(1).map { id in
        Credential(
          account: row.int64(0), id: AccountID(id),
          password: PasswordHash(
            salt: row.blob(2), hash: row.blob(3),
            cost: .init(rounds: row.int64(4), blockSize: row.int64(5), parallelism: row.int64(6))))
      }
    } ?? nil
  }

  static func store(
    _ hash: PasswordHash, of account: AccountRow, id: AccountID, login: String, in recorder: EvidenceRecorder
  ) throws {
    let credential = SpoolLine.Credential(
      account: id, login: login, salt: hash.salt, hash: hash.hash, rounds: hash.cost.rounds,
      blockSize: hash.cost.blockSize, parallelism: hash.cost.parallelism, changedAt: recorder.now)
    try recorder.setCredential(credential, of: account)
  }

  /// - Parameter now: of a change of the password; nil for another hash of the same one.
  static func replace(
    _ hash: PasswordHash, of account: AccountRow, at now: Int64?, in recorder: EvidenceRecorder
  ) throws {
    // Never the same time twice, whatever the clock says: it is the password's generation.
    let update = try recorder.db.cached(
      """
      UPDATE credential SET salt = ?3, hash = ?4, rounds = ?5, block_size = ?6, parallelism = ?7,
        changed_at = coalesce(max(?8, changed_at + 1), changed_at)
      WHERE account = ?2
      """)
    update.bind(2, account.number)
    update.bind(3, hash.salt)
    update.bind(4, hash.hash)
    update.bind(5, hash.cost.rounds)
    update.bind(6, hash.cost.blockSize)
    update.bind(7, hash.cost.parallelism)
    update.bind(8, now)
    try update.run()
    try recorder.spoolCredential(of: account)
  }
}
