import Crypto
public import PurchaseLedger
import Support

extension Accounts {
  /// Opens a session for a login and its password.
  ///
  /// An unknown login takes as long as a known one, so that the time does not reveal which logins exist.
  ///
  /// - Parameters:
  ///   - network: The client's network, which waits for its own password checks before others do.
  ///   - isPreferred: Whether the client is known to have signed in to this account before. Such clients have three
  ///     quarters of the time of password checks, each account and network an equal part.
  /// - Throws: `LedgerError` with code `wrong-password`, the same for an unknown login and a wrong password.
  public func signIn(
    login: String, password: String, lasting milliseconds: Int64, isPreferred: Bool = false, from network: String = ""
  ) async throws -> SessionToken {
    let name = try? Login(login)
    let credential = try name.flatMap { name in
      try ledger.readStatement { try Self.credential($0, of: name) }
    }
    let stored =
      credential?.password
      ?? PasswordHash(salt: [UInt8](repeating: 0, count: 16), hash: [UInt8](repeating: 0, count: 32), cost: cost)
    let cost = self.cost
    let (matches, renewed) = try await Self.hash(from: network, for: isPreferred ? credential?.id : nil) {
      let matches = try password.utf8.count <= Self.passwordBytesMax && stored.matches(password)
      return (matches, matches && stored.cost != cost ? try PasswordHash(of: password, cost: cost) : nil)
    }
    guard let credential, matches else {
      throw LedgerError(.wrongPassword, at: "sign-in", "login or password is wrong")
    }
    let token = SessionToken.random()
    try await ledger.commits.perform { recorder in
      // The password may have changed, or the account been erased, since it was read.
      let row = try recorder.living(credential.id)
      guard let name, try Self.credential(recorder.db, of: name)?.password == credential.password else {
        throw LedgerError(.wrongPassword, at: "sign-in", "login or password is wrong")
      }
      if let renewed { try Self.replace(renewed, of: row, at: nil, in: recorder) }
      try Self.removeExpired(at: recorder.now, of: row.number, in: recorder.db)
      let insert = try recorder.db.cached(
        "INSERT INTO session (token_sha256, account, opened_at, expires_at) VALUES (?, ?, ?, ?)")
      insert.bind(1, token.sha256)
      insert.bind(2, row.number)
      insert.bind(3, recorder.now)
      insert.bind(4, recorder.now.addingReportingOverflow(max(0, milliseconds)).partialValue)
      try insert.run()
      try Self.endOldest(of: row.number, but: token, in: recorder.db)
    }
    return token
  }

  /// Checks an account's password, for actions that an open session alone must not allow.
  ///
  /// - Throws: `LedgerError` with code `wrong-password`, also for an account that is erased.
  public func check(_ password: String, of account: AccountID, from network: String = "") async throws {
    let stored = try ledger.readStatement { db in
      let select = try db.cached(
        """
        SELECT c.login FROM credential AS c JOIN account AS a ON a.number = c.account WHERE a.id = ?
        """)
      select.bind(1, account.uuid)
      return try select.first { $0.text(0) }.flatMap { try Self.credential(db, login: $0) }
    }
    let matches = try await Self.hash(from: network, for: account) {
      try stored.map { try password.utf8.count <= Self.passwordBytesMax && $0.password.matches(password) } ?? false
    }
    guard matches else { throw LedgerError(.wrongPassword, at: "password", "the password is wrong") }
  }

  /// The account of a session; nil if the session has expired or ended, or the account is erased.
  public func account(for token: SessionToken) throws -> AccountID? {
    try ledger.readStatement { db in
      let select = try db.cached(
        """
        SELECT a.id FROM session AS s JOIN account AS a ON a.number = s.account
        WHERE s.token_sha256 = ? AND s.expires_at > ? AND a.erased_seq IS NULL
        """)
      select.bind(1, token.sha256)
      select.bind(2, ledger.clock.now())
      return try select.first { $0.uuid(0).map(AccountID.init) } ?? nil
    }
  }

  /// Ends a session. Does nothing if it has ended already.
  public func signOut(_ token: SessionToken) async throws {
    try await ledger.commits.perform { recorder in
      let delete = try recorder.db.cached("DELETE FROM session WHERE token_sha256 = ?")
      delete.bind(1, token.sha256)
      try delete.run()
    }
  }

  /// Ends all sessions of an account.
  public func signOutEverywhere(_ account: AccountID) async throws {
    try await ledger.commits.perform { recorder in
      guard let row = try recorder.account(id: account) else { return }
      try recorder.endSessions(of: row)
    }
  }

  /// The largest number of sessions of an account; repeated sign-ins end the oldest ones.
  private static let sessionsMax = 100

  /// - Parameter token: The newest session's, which is kept whatever the clock says.
  private static func endOldest(of account: Int64, but token: SessionToken, in db: SQLiteConnection) throws {
    let delete = try db.cached(
      """
      DELETE FROM session WHERE account = ?1 AND token_sha256 IN (
        SELECT token_sha256 FROM session WHERE account = ?1
        ORDER BY token_sha256 = ?2 DESC, opened_at DESC LIMIT -1 OFFSET \(sessionsMax))
      """)
    delete.bind(1, account)
    delete.bind(2, token.sha256)
    try delete.run()
  }

  private static func removeExpired(at now: Int64, of account: Int64, in db: SQLiteConnection) throws {
    let delete = try db.cached("DELETE FROM session WHERE account = ? AND expires_at <= ?")
    delete.bind(1, account)
    delete.bind(2, now)
    try delete.run()
  }
}

/// The token of a session: 32 random bytes as base64url. The ledger stores only its SHA-256.
public struct SessionToken: Sendable, Hashable, CustomStringConvertible {
  /// What `Authorization: Bearer` carries.
  public let text: String

  /// A token as a client sent it. Any text is accepted, because it is only looked up.
  public init(_ text: String) { self.text = text }

  package static func random() -> Self {
    Self(Base64.encodeURLText([UInt8].random(count: 32)))
  }

  var sha256: [UInt8] { [UInt8](SHA256.hash(data: Array(text.utf8))) }

  /// Does not contain the token, because descriptions are logged.
  public var description: String { "SessionToken" }
}
