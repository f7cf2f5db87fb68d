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
      return sorted.map { Entitlement($0, account: account, at: clock.now()) }
    }
  }

  /// The account's entitlement to a product: the active one if there is one, else the one that best explains why there
  /// is none.
  public func owner(of product: String, by account: AccountID) throws -> Entitlement? {
    let all = try readStatement { db in
      let select = try db.cached(Self.ownedGrants + " AND product_id = ?")
      select.bind(1, account.uuid)
      select.bind(2, product)
      return try select.all { Entitlement(EntitlementRow($0), account: account, at: clock.now()) }
    }
    func rank(_ status: Entitlement.Status) -> Int {
      switch status {
      case .active: 0
      case .pending: 1
      case .held: 2
      case .expired: 3
      case .revoked: 4
      case .withheld: 5
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
      return try select.first {
        Entitlement(EntitlementRow($0), account: $0.uuid(12).map(AccountID.init), at: clock.now())
      }
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
}

extension LedgerEvent {
  fileprivate func mentions(_ id: String) -> Bool {
    switch content {
    case .transaction(let fact), .amendment(let fact, _): fact.transactionID == id || fact.originalTransactionID == id
    case .audit(_, _, let subject, _, _, _): subject == id
    case .act(let act): act.transaction?.id == id || act.subject == id
    default: content.transactionKey?.id == id
    }
  }
}
