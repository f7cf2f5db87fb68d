import Support

extension EvidenceRecorder {
  /// Puts the account's present login and password into the spool.
  package func spoolCredential(of account: AccountRow) throws {
    if let credential = try Ledger.credentials(db, of: account.number).first {
      try spool.append(.credential(credential))
    }
  }

  /// Puts stored evidence into the spool for an account: the store's answer about a purchase that the account knows by
  /// its bare token alone.
  func spoolStored(_ sha256: [UInt8], of fact: StoreTransaction, for account: AccountID) throws {
    let select = try db.cached(EvidenceRow.select)
    select.bind(1, sha256)
    guard let row = try select.first({ EvidenceRow($0) }),
      let kind = EvidenceKind(rawValue: UInt8(truncatingIfNeeded: row.kind))
    else { return }
    let context = EvidenceContext(
      productID: fact.productID, purchaseToken: fact.purchaseToken, environment: fact.environment)
    try spool.append(row, kind: kind, context: context, for: account)
  }

  /// Sets an account's login and password, and puts them into the spool.
  package func setCredential(_ credential: SpoolLine.Credential, of account: AccountRow) throws {
    let upsert = try db.cached(
      """
      INSERT INTO credential (account, login, salt, hash, rounds, block_size, parallelism, changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (account) DO UPDATE SET login = excluded.login, salt = excluded.salt, hash = excluded.hash,
        rounds = excluded.rounds, block_size = excluded.block_size, parallelism = excluded.parallelism,
        changed_at = excluded.changed_at
      """)
    upsert.bind(1, account.number)
    upsert.bind(2, credential.login)
    upsert.bind(3, credential.salt)
    upsert.bind(4, credential.hash)
    upsert.bind(5, credential.rounds)
    upsert.bind(6, credential.blockSize)
    upsert.bind(7, credential.parallelism)
    upsert.bind(8, credential.changedAt)
    try upsert.run()
    try spoolCredential(of: account)
  }

  /// Ends all sessions of an account.
  package func endSessions(of account: AccountRow) throws {
    let delete = try db.cached("DELETE FROM session WHERE account = ?")
    delete.bind(1, account.number)
    try delete.run()
  }

  /// Deletes an account's login, password and sessions.
  package func deletePersonalData(of account: AccountRow) throws {
    let delete = try db.cached("DELETE FROM credential WHERE account = ?")
    delete.bind(1, account.number)
    try delete.run()
    try endSessions(of: account)
  }
}

extension Ledger {
  /// The logins and passwords of open accounts, of one or of all.
  static func credentials(_ db: SQLiteConnection, of account: Int64? = nil) throws -> [SpoolLine.Credential] {
    let select = try db.cached(
      """
      SELECT a.id, c.login, c.salt, c.hash, c.rounds, c.block_size, c.parallelism, c.changed_at
      FROM credential AS c JOIN account AS a ON a.number = c.account WHERE ?1 IS NULL OR c.account = ?1
      ORDER BY c.account
      """)
    select.bind(1, account)
    return try select.all { row in
      row.uuid(0).map {
        SpoolLine.Credential(
          account: AccountID($0), login: row.text(1), salt: row.blob(2), hash: row.blob(3), rounds: row.int64(4),
          blockSize: row.int64(5), parallelism: row.int64(6), changedAt: row.int64(7))
      }
    }.compactMap { $0 }
  }
}
