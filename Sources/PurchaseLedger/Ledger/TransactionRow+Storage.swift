import GRDB

extension TransactionRow {
  /// The columns of `store_transaction` in the order in which they are bound and read.
  static let columns = """
    store, environment, transaction_id, digest, token, token_date, original_id, product_id, product_type, \
    purchase_date, expires_date, quantity, ownership, price_milli, currency, reason, purchase_token, signed_date, \
    statement, trust, revocation_date, revocation_reason, revocation_milli, revocation_type, revocation_quantity, \
    voided, acknowledged, described
    """

  static let upsert: String = {
    let names = columns.split(separator: ",").map { $0.trimmingPrefix(while: \.isWhitespace) }
    let values = Array(repeating: "?", count: names.count).joined(separator: ", ")
    let updates = names.dropFirst(3).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return """
      INSERT INTO store_transaction (\(columns)) VALUES (\(values)) \
      ON CONFLICT (store, environment, transaction_id) DO UPDATE SET \(updates)
      """
  }()

  func bind(to statement: SQLStatement, digest: [UInt8]) {
    statement.bind(1, key)
    statement.bind(4, digest)
    statement.bind(5, token)
    statement.bind(6, tokenDate)
    statement.bind(7, originalID)
    statement.bind(8, productID)
    statement.bind(9, productType.rawValue)
    statement.bind(10, purchaseDate)
    statement.bind(11, expiresDate)
    statement.bind(12, quantity)
    statement.bind(13, ownership)
    statement.bind(14, price?.milliunits)
    statement.bind(15, price?.currency)
    statement.bind(16, reason)
    statement.bind(17, purchaseToken)
    statement.bind(18, signedDate)
    statement.bind(19, self.statement.rawValue)
    statement.bind(20, trust.rawValue)
    statement.bind(21, revocation?.date)
    statement.bind(22, revocation?.reason)
    statement.bind(23, revocation?.percentageMilli)
    statement.bind(24, revocation?.type)
    statement.bind(25, revocation?.quantity)
    statement.bind(26, voided.isEmpty ? nil : voided.bytes)
    statement.bind(27, isAcknowledged)
    statement.bind(28, stamps.isEmpty ? nil : stamps.bytes)
  }

  /// Reads a row selected as `columns`.
  init(_ row: borrowing SQLStatement) {
    let price: Money? =
      row.isNull(13) ? nil : Money(milliunits: row.int(13), currency: row.text(14))
    let revocation: Revocation? =
      row.isNull(20)
      ? nil
      : Revocation(
        date: row.int(20), reason: row.optionalText(21), percentageMilli: row.optionalInt(22),
        type: row.optionalText(23), quantity: row.optionalInt(24))
    self.init(
      key: RowKey(row),
      originalID: row.text(6), productID: row.text(7), productType: ProductType(rawValue: row.text(8)),
      purchaseDate: row.int(9), expiresDate: row.optionalInt(10), quantity: row.int(11), ownership: row.text(12),
      price: price, reason: row.text(15), purchaseToken: row.optionalText(16), signedDate: row.int(17),
      statement: Statement(rawValue: UInt8(truncatingIfNeeded: row.int(18))) ?? .pending,
      trust: Trust(rawValue: UInt8(truncatingIfNeeded: row.int(19))) ?? .unsigned, revocation: revocation,
      voided: row.isNull(25) ? VoidedPieces() : VoidedPieces(row.blob(25)), token: row.uuid(4),
      tokenDate: row.optionalInt(5), isAcknowledged: row.int(26) != 0,
      stamps: row.isNull(27) ? FieldStamps() : FieldStamps(row.blob(27)))
  }
}
