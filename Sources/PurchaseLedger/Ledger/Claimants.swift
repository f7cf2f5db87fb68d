import Support

/// Accounts that presented a bare purchase token, which names no order and is signed by nobody. They wait in `claimant`
/// until the store has answered and `reconcile --apply` has recorded the purchase.
extension EvidenceRecorder {
  /// Remembers that an account waits for the answer to a question.
  ///
  /// - Parameter askedAt: When it asked, in milliseconds since 1970; nil for now.
  func addClaimant(_ account: AccountID, of key: RowKey, askedAt: Int64? = nil) throws {
    let insert = try db.cached(
      """
      INSERT OR IGNORE INTO claimant (store, environment, transaction_id, account, asked_at) VALUES (?, ?, ?, ?, ?)
      """)
    insert.bind(1, key)
    insert.bind(4, account.uuid)
    insert.bind(5, askedAt ?? now)
    try insert.run()
  }

  /// Names the transactions of the store's answer in place of the token.
  func moveClaimants(of key: RowKey, to facts: [StoreTransaction]) throws {
    let select = try db.cached(
      "SELECT account, asked_at FROM claimant WHERE store = ? AND environment = ? AND transaction_id = ?")
    select.bind(1, key)
    let accounts = try select.all { row in row.uuid(0).map { (id: AccountID($0), askedAt: row.int64(1)) } }
    guard !accounts.isEmpty else { return }
    try removeClaimants(of: key)
    for fact in facts {
      guard let key = RowKey(fact.key) else { continue }
      for account in accounts.compactMap(\.self) {
        try addClaimant(account.id, of: key, askedAt: account.askedAt)
      }
    }
  }

  /// Makes the accounts that wait for recorded transactions their claimants, in the order in which they asked.
  func claimAnswered() throws {
    let waiting = try db.cached(
      """
      SELECT c.store, c.environment, c.transaction_id, c.account, s.fact, s.evidence FROM claimant AS c
      JOIN store_snapshot AS s USING (store, environment, transaction_id)
      JOIN store_transaction AS t USING (store, environment, transaction_id) ORDER BY c.asked_at
      """
    ).all { row in
      (RowKey(row), row.uuid(3), try? SnapshotFacts(bodies: row.blob(4), digests: row.blob(5)))
    }
    for (key, account, facts) in waiting {
      defer { try? removeClaimants(of: key) }
      guard let account, let entry = facts?.entries.last,
        let claimant = try projections.accounts.account(id: AccountID(account)), claimant.erasedSeq == nil
      else { continue }
      _ = try claim(entry.fact, by: claimant, isTransfer: false, evidence: entry.evidence)
      // Nothing else in the spool tells whose it is: the token itself is no evidence.
      try spoolStored(entry.evidence, of: entry.fact.transaction, for: AccountID(account))
    }
  }

  private func removeClaimants(of key: RowKey) throws {
    let delete = try db.cached("DELETE FROM claimant WHERE store = ? AND environment = ? AND transaction_id = ?")
    delete.bind(1, key)
    try delete.run()
  }
}
