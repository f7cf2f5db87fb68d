extension Booker {
  /// Books that an account presented a fact, unless that says nothing new (docs/ledger.md, Owners).
  ///
  /// - Returns: Whether there is a new event.
  func claim(_ fact: PreparedFact, by account: AccountRow, isTransfer: Bool, evidence: [UInt8]) throws -> Bool {
    // Also where the evidence carries the account's own token: a later fact may have another, and which of them came first must not matter.
    guard let row = try projections.row(fact.row.key) else { return false }
    // The account's claims of this very transaction, not of its grant: which transactions are one grant may follow from evidence that comes later.
    let claims = try projections.claims.claims(of: row.key).filter { $0.account == account.number }
    if let own = claims.last(where: { $0.mode >= (isTransfer ? 1 : 0) })?.seq, projections.accounts.lastErasure <= own {
      let wasTakenSince = try projections.members(of: row.grant).contains { member in
        try projections.claims.claims(of: member.key).contains {
          $0.account != account.number && $0.mode == 1 && $0.seq > own
        }
      }
      if !wasTakenSince { return false }
    }
    let previous = claims.last?.seq ?? 0
    return try append(
      .claim(fact.transaction.key, account: AccountID(account.id), isTransfer: isTransfer, after: previous),
      evidence: evidence) != nil
  }

  /// Why a transaction is not the account's, nil if it is.
  func refusal(of key: RowKey, to account: AccountRow) throws -> Refusal? {
    guard let grant = try projections.row(key)?.grant, let (fold, owners) = try projections.folds(of: grant) else {
      return nil
    }
    if try projections.entitlement(of: grant)?.account == account.number { return nil }
    if owners.tokenAccount.map({ $0.erasedSeq == nil }) ?? (fold.token != nil && policy.unknownToken == .refuse) {
      return Refusal(
        .tokenOfAnotherAccount,
        "transaction \(key.id) was bought for another account; sign in to that one")
    }
    return Refusal(
      .claimedByAnotherAccount,
      "transaction \(key.id) belongs to another account already; sign in to that one")
  }
}
