import Support

extension Ledger {
  /// All entitlements assigned to an account, ordered by key.
  ///
  /// - Complexity: O(its grants); one statement.
  public func entitlements(of account: AccountID) throws -> [Entitlement] {
    try readStatement { db in
      let select = try db.cached(Self.ownedGrants)
      select.bind(1, account.uuid)
      let rows = try select.all { EntitlementRow($0) }
      let sorted = rows.count > 1 ? rows.sorted { $0.key < $1.key } : rows
      return sorted.map { Entitlement($0, account: account) }
    }
  }

  /// The account's entitlement to a product: the active one if there is one, else the one that best explains why there
  /// is none.
  public func owner(of product: String, by account: AccountID) throws -> Entitlement? {
    let all = try readStatement { db in
      let select = try db.cached(Self.ownedGrants + " AND product_id = ?")
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

  /// The products with active grants that accounts own, and their number of owners, without those that are known.
  ///
  /// - Complexity: O(owned grants), from the covering index `entitlement_account`.
  package func activeProducts(except known: some Collection<String>) throws -> [(product: String, owners: Int)] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT product_id, count(DISTINCT account) FROM entitlement
        WHERE account IS NOT NULL AND status = ?1 AND product_id <> ''
          AND product_id NOT IN (SELECT value FROM json_each(?2))
        GROUP BY product_id ORDER BY product_id
        """)
      select.bind(1, Entitlement.Status.active.rawValue)
      select.bind(2, JSONValue.array(known.map { .string($0) }).text)
      return try select.all { ($0.text(0), Int($0.int64(1))) }
    }
  }

  /// The entitlement of a grant, owned or not.
  public func entitlement(of grant: TransactionKey) throws -> Entitlement? {
    guard let key = RowKey(grant) else { return nil }
    return try readStatement { db in
      let select = try db.cached(
        """
        SELECT \(EntitlementRow.columns), (SELECT id FROM account WHERE number = account) FROM entitlement
        WHERE store = ? AND environment = ? AND original_id = ?
        """)
      select.bind(1, key)
      return try select.first { Entitlement(EntitlementRow($0), account: $0.uuid(11).map(AccountID.init)) }
    }
  }

  /// Answered from the covering index `entitlement_account`, in which an account's grants are adjacent.
  static let ownedGrants = """
    SELECT \(EntitlementRow.columns) FROM entitlement
    WHERE account = (SELECT number FROM account WHERE id = ? AND erased_seq IS NULL)
    """

  /// Every event about a transaction or its copies, in order.
  ///
  /// - Complexity: O(events): events are not indexed by transaction.
  public func history(of transaction: String) throws -> [LedgerEvent] {
    try read { db in
      let select = try db.cached(
        """
        SELECT \(LedgerEvent.columns) FROM event WHERE instr(body, CAST(? AS BLOB)) > 0 ORDER BY seq
        """)
      select.bind(1, transaction)
      return try select.all { try LedgerEvent($0, in: path) }.filter { $0.mentions(transaction) }
    }
  }

  /// Google purchases older than `milliseconds` that are not acknowledged; Google refunds them after three days.
  public func unacknowledged(olderThan milliseconds: Int64) throws -> [LookupHint] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT store, environment, transaction_id, product_id, purchase_token FROM store_transaction
        WHERE \(LedgerSchema.isUnacknowledged) AND purchase_date <= ? ORDER BY purchase_date
        """)
      select.bind(1, clock.now() - milliseconds)
      return try select.all(LookupHint.init)
    }
  }

  /// The queries to the store that unsigned messages and reconciliation request, completed from the recorded purchase.
  /// In the order in which to send them: the ledger's own first, those about unknown transactions last.
  package func lookups() throws -> [LookupHint] {
    try readStatement { db in
      try db.cached(
        """
        SELECT l.store, l.environment, l.transaction_id, coalesce(l.product_id, nullif(t.product_id, '')),
          coalesce(l.purchase_token, t.purchase_token)
        FROM lookup AS l LEFT JOIN store_transaction AS t USING (store, environment, transaction_id)
        ORDER BY l.rank, l.asked_at, l.store, l.environment, l.transaction_id
        """
      ).all(LookupHint.init)
    }
  }

  /// Removes a query that the store has answered.
  package func removeLookup(_ key: TransactionKey) async throws {
    try await commits.perform { recorder in
      if let key = RowKey(key) { try recorder.lookups().remove(key) }
    }
  }
}

extension LookupHint {
  fileprivate init(_ row: SQLiteStatement) {
    let key = RowKey(row)
    self.init(key: key.transactionKey, productID: row.optionalText(3), purchaseToken: row.optionalText(4))
  }
}

// MARK: - What a pull queries

extension Ledger {
  /// One transaction of each known customer of a store: the history of one transaction is the customer's whole history.
  ///
  /// An account counts as one customer; a grant without owner counts as a customer of its own.
  package func customers(of store: Store, in environment: StoreEnvironment) throws -> [String] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT min(original_id) FROM entitlement WHERE store = ?1 AND environment = ?2 AND account IS NOT NULL
        GROUP BY account
        UNION ALL SELECT original_id FROM entitlement WHERE store = ?1 AND environment = ?2 AND account IS NULL
        """)
      select.bind(1, store.code)
      select.bind(2, environment.code ?? 0)
      return try select.all { $0.text(0) }
    }
  }

  /// Every Google purchase with what a query needs; revoked ones too, because Google's voided list covers only 30 days.
  package func googlePurchases(in environment: StoreEnvironment) throws -> [LookupHint] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT transaction_id, product_id, purchase_token FROM store_transaction
        WHERE store = 2 AND environment = ? AND purchase_token IS NOT NULL
        """)
      select.bind(1, environment.code ?? 0)
      return try select.all {
        LookupHint(
          key: TransactionKey(store: .google, environment: environment, id: $0.text(0)), productID: $0.text(1),
          purchaseToken: $0.text(2))
      }
    }
  }
}

extension LedgerEvent {
  fileprivate func mentions(_ id: String) -> Bool {
    switch content {
    case .transaction(let fact), .amendment(let fact, _): fact.transactionID == id || fact.originalTransactionID == id
    case .audit(_, _, let subject, _, _, _): subject == id
    default: content.transactionKey?.id == id
    }
  }
}
