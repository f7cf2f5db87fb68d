import Support

/// Why an operator acts, and who.
package struct ActReason: Sendable, Hashable {
  package var reason: String
  package var author: String

  /// - Throws: `LedgerError` (`input`) without a reason or author; both are kept for ever.
  package init(_ reason: String, by author: String) throws(LedgerError) {
    let texts = [("reason", reason), ("author", author)]
    for (name, text) in texts where text.trimmingWhitespace.isEmpty || text.utf8.count > 1024 {
      throw LedgerError(.input, at: name, "must have 1 to 1,024 bytes", remedy: "say why, without personal data")
    }
    (self.reason, self.author) = (reason.withoutControls, author.withoutControls)
  }
}

/// What operators do for customers. Each act is an event with its reason and author; its effect follows by the fold.
extension Ledger {
  /// Moves a purchase, with its restored copies and renewals, to an account, whatever token or claim it has.
  ///
  /// - Parameter id: Of any of its transactions, or of a granted product.
  /// - Returns: The entitlement now.
  package func transfer(_ id: String, to account: AccountID, _ why: ActReason) throws -> Entitlement {
    try write { recorder in
      let key = try recorder.owned(id)
      _ = try recorder.living(account)
      try recorder.append(recorder.act(.transfer, why, transaction: key, account: account))
      return try recorder.entitlement(of: key)
    }
  }

  /// Gives an account a product that it has not bought, until a time or for good.
  package func grant(
    _ product: String, to account: AccountID, until: Int64? = nil, _ why: ActReason
  ) throws -> Entitlement {
    let product = try Self.product(product)
    return try write { recorder in
      _ = try recorder.living(account)
      if let until, until <= recorder.now {
        throw LedgerError(.input, at: "until", "has passed", remedy: "name a later time, or leave it out")
      }
      let key = TransactionKey.granted(.random(), in: recorder.policy.environment)
      try recorder.append(
        recorder.act(.grant, why, transaction: key, account: account, subject: product, until: until))
      return try recorder.entitlement(of: key)
    }
  }

  /// Takes a purchase or a granted product away from whoever has it, until it is transferred.
  package func revoke(_ id: String, _ why: ActReason) throws -> Entitlement {
    try write { recorder in
      let key = try recorder.owned(id)
      try recorder.append(recorder.act(.revoke, why, transaction: key))
      return try recorder.entitlement(of: key)
    }
  }

  /// Gives all that an account has, and what is bought with its token later, to another one. The first account loses
  /// its login and sessions.
  package func merge(_ account: AccountID, into other: AccountID, _ why: ActReason) throws {
    try write { recorder in
      let row = try recorder.living(account)
      let heir = try recorder.living(other)
      guard recorder.projections.acts.heir(of: heir.number) != recorder.projections.acts.heir(of: row.number) else {
        throw LedgerError(.account, at: "\(account)", "is merged into that account already, or is the same")
      }
      try recorder.append(recorder.act(.merge, why, account: account, other: other))
      try recorder.deletePersonalData(of: row)
    }
  }

  /// Lets test purchases of an account count until a time.
  ///
  /// - Parameter until: Nil ends that now.
  package func setReviewer(_ account: AccountID, until: Int64?, _ why: ActReason) throws {
    try write { recorder in
      let row = try recorder.living(account)
      if let until, until <= recorder.now {
        throw LedgerError(.input, at: "until", "has passed", remedy: "name a later day")
      }
      if until == nil, try recorder.projections.acts.last(.reviewer, for: row.number)?.until == nil {
        throw LedgerError(.account, at: "\(account)", "is not on the list", remedy: "reviewers list shows who is")
      }
      try recorder.append(recorder.act(.reviewer, why, account: account, until: until))
    }
  }

  /// The accounts whose test purchases count, also those whose time has passed.
  package func reviewers() throws -> [(account: AccountID, until: Int64)] {
    try readStatement { db in
      try db.cached(
        """
        SELECT a.id, r.until FROM act AS r JOIN account AS a ON a.number = r.account
        WHERE r.action = 'reviewer' AND r.until IS NOT NULL AND a.erased_seq IS NULL
          AND r.seq = (SELECT max(seq) FROM act AS o WHERE o.action = 'reviewer' AND o.account = r.account)
        ORDER BY r.seq
        """
      ).all { row in row.uuid(0).map { (AccountID($0), row.int64(1)) } }.compactMap(\.self)
    }
  }

  /// Links account ids of the app's own, which stores state in place of tokens, to accounts.
  ///
  /// - Returns: How many links are new.
  package func link(_ links: [(id: String, account: AccountID)], _ why: ActReason) throws -> Int {
    try write { recorder in
      var count = 0
      for (id, account) in links {
        let row = try recorder.living(account)
        guard (1...512).contains(id.utf8.count) else {
          throw LedgerError(.input, at: id, "is no account id of 1 to 512 bytes")
        }
        if try recorder.projections.acts.account(linkedTo: id) == row.number { continue }
        try recorder.append(recorder.act(.link, why, account: account, subject: id))
        count += 1
      }
      return count
    }
  }

  /// Records that a customer allows answers to questions about refunds, or no longer.
  ///
  /// - Parameter version: Of the text that the customer saw; nil withdraws the consent.
  package func setConsent(_ account: AccountID, version: String?, _ why: ActReason) throws {
    try write { recorder in
      _ = try recorder.living(account)
      try recorder.append(recorder.act(.consent, why, account: account, subject: version))
    }
  }

  /// When an account allowed answers about refunds, and by which text; nil if it did not, or withdrew it.
  package func consent(of account: AccountID) throws -> (date: Int64, version: String)? {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT c.date, c.subject FROM act AS c JOIN account AS a ON a.number = c.account
        WHERE a.id = ? AND c.action = 'consent' ORDER BY c.seq DESC LIMIT 1
        """)
      select.bind(1, account.uuid)
      return try select.first { row in row.optionalText(1).map { (row.int64(0), $0) } } ?? nil
    }
  }

  /// The purchases of an order number of Google's, or with a transaction's id.
  package func purchases(ofOrder order: String) throws -> [Entitlement] {
    let keys = try readStatement { db in
      let select = try db.cached(
        """
        SELECT DISTINCT store, environment, original_id FROM store_transaction
        WHERE store IN (1, 2) AND environment IN (1, 2)
          AND (transaction_id = ?1 OR transaction_id >= ?1 || '/' AND transaction_id < ?1 || '0')
        """)
      select.bind(1, order)
      return try select.all { RowKey($0).transactionKey }
    }
    return try keys.compactMap { try entitlement(of: $0) }
  }

  /// The entitlement of the grant that a transaction belongs to; nil if it is not recorded.
  package func purchase(of transaction: TransactionKey) throws -> Entitlement? {
    guard let key = RowKey(transaction) else { return nil }
    let grant = try readStatement { db in
      let select = try db.cached(
        "SELECT store, environment, original_id FROM store_transaction "
          + "WHERE store = ? AND environment = ? AND transaction_id = ?")
      select.bind(1, key)
      return try select.first { RowKey($0).transactionKey }
    }
    return try grant.flatMap { try entitlement(of: $0) }
  }

  /// Records that somebody looked an order up.
  package func recordLookUp(of order: String, _ why: ActReason) throws {
    _ = try write { try $0.append($0.act(.order, why, subject: String(order.prefix(200)))) }
  }

  private static func product(_ text: String) throws -> String {
    do { return try FieldRules.identifier(text, "product") } catch {
      throw LedgerError(.input, at: text, "is no product id", remedy: "give the id that the stores have")
    }
  }
}

extension EvidenceRecorder {
  package func act(
    _ action: Act.Action, _ why: ActReason, transaction: TransactionKey? = nil, account: AccountID? = nil,
    other: AccountID? = nil, subject: String? = nil, until: Int64? = nil
  ) -> EventContent {
    .act(
      Act(
        action, transaction: transaction, account: account, other: other, subject: subject, date: now, until: until,
        reason: why.reason, author: why.author))
  }

  /// The row of an open account.
  package func living(_ account: AccountID) throws -> AccountRow {
    guard let row = try self.account(id: account), row.erasedSeq == nil,
      projections.acts.heir(of: row.number) == row.number
    else {
      throw LedgerError(
        .account, at: account.description, "there is no such account", remedy: "`account list` shows them")
    }
    return row
  }

  /// The recorded transaction or granted product of an id.
  fileprivate func owned(_ id: String) throws -> TransactionKey {
    let select = try db.cached(
      """
      SELECT store, environment, transaction_id FROM store_transaction WHERE store = ?1 AND environment = ?2
        AND (transaction_id = ?3 OR (original_id = ?3 AND transaction_id <> original_id))
      UNION ALL SELECT store, environment, original_id FROM entitlement
      WHERE store = ?1 AND environment = ?2 AND original_id = ?3 LIMIT 1
      """)
    var keys: [TransactionKey] = []
    for store in Store.allCases {
      for environment in [StoreEnvironment.production, .sandbox] {
        guard let key = RowKey(TransactionKey(store: store, environment: environment, id: id)) else { continue }
        select.bind(1, key)
        if let found = try select.first({ RowKey($0).transactionKey }) { keys.append(found) }
      }
    }
    // A test of a real purchase has the same id.
    guard let key = keys.first(where: { $0.environment == policy.environment }) ?? keys.first else {
      throw LedgerError(
        .input, at: id, "no purchase with this id is recorded", remedy: "entitlements lists an account's ids")
    }
    return key
  }

  fileprivate func entitlement(of transaction: TransactionKey) throws -> Entitlement {
    guard let key = RowKey(transaction),
      let row = try projections.entitlement(of: try projections.row(key)?.grant ?? key)
    else { throw LedgerError(.input, at: transaction.id, "grants nothing") }
    let account = try row.account.flatMap { try projections.accounts.account(number: $0) }
    return Entitlement(row, account: account.map { AccountID($0.id) }, at: now)
  }
}
