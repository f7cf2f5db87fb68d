extension EntitlementRow {
  static let columns = """
    store, environment, original_id, account, product_id, product_type, status, reason, since, refunded_milli, token
    """

  static let upsert = """
    INSERT INTO entitlement (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (store, environment, original_id) DO UPDATE SET
      account = excluded.account, product_id = excluded.product_id, product_type = excluded.product_type,
      status = excluded.status, reason = excluded.reason, since = excluded.since,
      refunded_milli = excluded.refunded_milli, token = excluded.token
    """

  func bind(to statement: SQLStatement) {
    statement.bind(1, key)
    statement.bind(4, account)
    statement.bind(5, productID)
    statement.bind(6, productType.rawValue)
    statement.bind(7, status.rawValue)
    statement.bind(8, reason)
    statement.bind(9, since)
    statement.bind(10, refundedMilli)
    statement.bind(11, orphan)
  }

  /// Reads a row selected as `columns`.
  init(_ row: borrowing SQLStatement) {
    key = RowKey(row)
    account = row.optionalInt(3)
    productID = row.text(4)
    productType = ProductType(rawValue: row.text(5))
    status = Entitlement.Status(rawValue: UInt8(truncatingIfNeeded: row.int(6))) ?? .withheld
    reason = row.text(7)
    since = row.int(8)
    refundedMilli = row.int(9)
    orphan = row.uuid(10)
  }
}

extension Entitlement {
  /// The row as a value; `account` is the id behind its number.
  init(_ row: EntitlementRow, account: AccountID?) {
    self.init(
      grant: row.key.transactionKey, account: account, productID: row.productID.isEmpty ? nil : row.productID,
      productType: row.productType, status: row.status, reason: row.reason, since: row.since,
      refundedMilli: row.refundedMilli)
  }
}

extension Posting {
  static let upsert = """
    INSERT INTO posting (store, environment, transaction_id, entry, date, debit, credit, amount, currency)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (store, environment, transaction_id, entry) DO UPDATE SET
      date = excluded.date, debit = excluded.debit, credit = excluded.credit, amount = excluded.amount,
      currency = excluded.currency
    """

  func bind(to statement: SQLStatement, key: RowKey) {
    statement.bind(1, key)
    statement.bind(4, entry)
    statement.bind(5, date)
    statement.bind(6, debit)
    statement.bind(7, credit)
    statement.bind(8, amount)
    statement.bind(9, currency)
  }
}
