import Support

extension Ledger {
  /// What an account was entitled to at a time, as far as is known now: a refund that the store dated before counts,
  /// whenever it was recorded, and a later one does not. The policies are those in force now. An account owns what its
  /// claims until then gave it; a purchase that was claimed later only belongs to whoever claimed it first.
  ///
  /// - Parameter time: milliseconds since 1970.
  /// - Complexity: O(the account's grants and claims).
  package func entitlements(of account: AccountID, asOf time: Int64) throws -> [Entitlement] {
    try read { db in
      let projections = try Projections(db, policy: EvidenceRecorder.policy(db))
      guard let owner = try projections.accounts.account(id: account)?.number else { return [] }
      let select = try db.cached(
        """
        SELECT store, environment, original_id FROM entitlement WHERE account = ?1
        UNION
        SELECT t.store, t.environment, t.original_id FROM claim AS c
        JOIN store_transaction AS t USING (store, environment, transaction_id) WHERE c.account = ?1
        """)
      select.bind(1, owner)
      let grants = try select.all { RowKey($0) }.sorted()
      return try grants.compactMap { grant in
        guard let (fold, owners) = try projections.folds(of: grant),
          let then = fold.asOf(time), try owners.claimed(by: time, db).owner == owner
        else { return nil }
        return Entitlement(then.entitlement(account: owner, orphan: nil), account: account, at: time)
      }
    }
  }
}

extension GrantFold {
  /// The grant at a time; nil if nothing of it was bought yet.
  fileprivate func asOf(_ time: Int64) -> GrantFold? {
    let members = members.filter { $0.purchaseDate <= time }.map { row in
      var row = row
      row.voided = row.voided.until(time)
      if let revocation = row.revocation, revocation.date > time {
        (row.statement, row.revocation) = (.purchased, nil)
      }
      return row
    }
    var then = GrantFold(key: key, members: members, policy: policy, isTest: isTest)
    (then.isTaken, then.said, then.reviewUntil) = (isTaken, said, reviewUntil)
    return members.isEmpty ? nil : then
  }
}

extension OwnerFold {
  /// With the claims that were recorded until a time, or the first if there were none.
  fileprivate func claimed(by time: Int64, _ db: SQLiteConnection) throws -> OwnerFold {
    let recordedAt = try db.cached("SELECT recorded_at FROM event WHERE seq = ?")
    let sorted = claims.sorted { $0.seq < $1.seq }
    let earlier = try sorted.filter { claim in
      recordedAt.bind(1, claim.seq)
      return try recordedAt.first { $0.int64(0) } ?? 0 <= time
    }
    return OwnerFold(
      tokenAccount: tokenAccount, claims: earlier.isEmpty ? Array(sorted.prefix(1)) : earlier, claimants: claimants,
      refusesClaims: refusesClaims)
  }
}
