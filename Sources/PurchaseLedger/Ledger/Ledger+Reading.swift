import GRDB

extension Ledger {
  /// Everything an account owns or is booked to it, in the order of the tables.
  ///
  /// - Complexity: O(its grants); one statement.
  public func entitlements(of account: AccountID) throws -> [Entitlement] {
    try readStatement { db in
      let select = try SQLStatement(db, Self.ownedGrants)
      select.bind(1, account.uuid)
      let rows = try select.all { EntitlementRow($0) }
      let sorted = rows.count > 1 ? rows.sorted { $0.key < $1.key } : rows
      return sorted.map { Entitlement($0, account: account) }
    }
  }

  /// The account's entitlement to a product: the active one if there is one, else the one that says most about why not.
  public func owner(of product: String, by account: AccountID) throws -> Entitlement? {
    let all = try readStatement { db in
      let select = try SQLStatement(db, Self.ownedGrants + " AND product_id = ?")
      select.bind(1, account.uuid)
      select.bind(2, product)
      return try select.all { Entitlement(EntitlementRow($0), account: account) }
    }
    func rank(_ status: Entitlement.Status) -> Int {
      switch status {
      case .active: 0
      case .pending: 1
      case .held: 2
      case .revoked: 3
      case .withheld: 4
      }
    }
    return all.min { rank($0.status) < rank($1.status) }
  }

  /// The entitlement of a grant, owned or not.
  public func entitlement(of grant: TransactionKey) throws -> Entitlement? {
    guard let key = RowKey(grant) else { return nil }
    return try readStatement { db in
      let select = try SQLStatement(
        db,
        """
        SELECT \(EntitlementRow.columns), (SELECT id FROM account WHERE number = account) FROM entitlement
        WHERE store = ? AND environment = ? AND original_id = ?
        """)
      select.bind(1, key)
      return try select.first { Entitlement(EntitlementRow($0), account: $0.uuid(11).map(AccountID.init)) }
    }
  }

  /// Answered out of one index, where the grants of an account lie side by side.
  static let ownedGrants = """
    SELECT \(EntitlementRow.columns) FROM entitlement
    WHERE account = (SELECT number FROM account WHERE id = ? AND erased_seq IS NULL)
    """

  /// Every event about a transaction, or about a copy of it, in order.
  ///
  /// - Complexity: O(events): nothing else is indexed by it.
  public func history(of transaction: String) throws -> [LedgerEvent] {
    try read { db in
      let select = try SQLStatement(
        db,
        """
        SELECT \(LedgerEvent.columns) FROM event WHERE instr(body, CAST(? AS BLOB)) > 0 ORDER BY seq
        """)
      select.bind(1, transaction)
      return try select.all { try LedgerEvent($0, in: path) }.filter { $0.mentions(transaction) }
    }
  }

  /// Google purchases that nobody acknowledged, bought longer ago than this; Google refunds them after three days.
  public func unacknowledged(olderThan milliseconds: Int64) throws -> [LookupHint] {
    try readStatement { db in
      let select = try SQLStatement(
        db,
        """
        SELECT store, environment, transaction_id, product_id, purchase_token FROM store_transaction
        WHERE \(LedgerSchema.isUnacknowledged) AND purchase_date <= ? ORDER BY purchase_date
        """)
      select.bind(1, clock.now() - milliseconds)
      return try select.all(LookupHint.init)
    }
  }

  /// What unsigned messages and reconciliation ask the store about; what they do not say of a purchase of ours is added.
  /// In the order in which to ask: our own questions first, guesses last.
  public func lookups() throws -> [LookupHint] {
    try readStatement { db in
      try SQLStatement(
        db,
        """
        SELECT l.store, l.environment, l.transaction_id, coalesce(l.product_id, nullif(t.product_id, '')),
          coalesce(l.purchase_token, t.purchase_token)
        FROM lookup AS l LEFT JOIN store_transaction AS t USING (store, environment, transaction_id)
        ORDER BY l.rank, l.asked_at, l.store, l.environment, l.transaction_id
        """
      ).all(LookupHint.init)
    }
  }

  /// Drops a question that the store has answered.
  public func removeLookup(_ key: TransactionKey) async throws {
    try await commits.perform { booker in
      if let key = RowKey(key) { try booker.lookups().remove(key) }
    }
  }
}

extension LookupHint {
  fileprivate init(_ row: borrowing SQLStatement) {
    let key = RowKey(row)
    self.init(key: key.transactionKey, productID: row.optionalText(3), purchaseToken: row.optionalText(4))
  }
}

extension LedgerEvent {
  static let columns = "seq, type, version, recorded_at, key, evidence, body, hash"

  /// Reads a row selected as `columns`.
  init(_ row: borrowing SQLStatement, in path: String) throws {
    let seq = row.int(0)
    guard let type = EventType(rawValue: UInt16(truncatingIfNeeded: row.int(1))),
      let content = try? EventContent(type: type, version: row.int(2), body: row.blob(6))
    else {
      throw LedgerError(.damaged, at: "\(path): event \(seq)", "cannot be read; run `purchase-ledger verify`")
    }
    self.init(
      seq: seq, version: Int(row.int(2)), recordedAt: row.int(3), evidence: row.optionalBlob(5), hash: row.blob(7),
      content: content)
  }

  fileprivate func mentions(_ id: String) -> Bool {
    switch content {
    case .transaction(let fact), .amendment(let fact, _): fact.transactionID == id || fact.originalTransactionID == id
    case .audit(_, _, let subject, _, _, _): subject == id
    default: content.transactionKey?.id == id
    }
  }
}
