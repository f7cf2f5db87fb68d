import Support

/// A double-entry posting: one debit, one credit, one amount, so that it balances by itself.
struct Posting: Sendable, Equatable {
  /// 1 for a sale, 2 for a refund.
  var entry: UInt8
  /// Milliseconds since 1970.
  var date: Int64
  var debit: Int64
  var credit: Int64
  /// Minor units of the currency.
  var amount: Int64
  var currency: String
}

extension Posting {
  /// `assets:receivable`, `income:sales`, `income:refunds`; the sandbox's numbers are ten greater.
  enum Account {
    static let receivable: Int64 = 1
    static let sales: Int64 = 2
    static let refunds: Int64 = 3
    static let sandbox: Int64 = 10
  }

  /// The postings of a transaction's current state, not of its history.
  ///
  /// - Parameter original: For a copy: its original transaction, if that is known.
  static func postings(of row: TransactionRow, original: TransactionRow? = nil) -> [Posting] {
    guard row.statement != .pending else { return [] }
    let base = row.key.environment == 1 ? 0 : Account.sandbox
    let price = isFree(row, original) ? nil : row.price
    let amount = price.map { max(0, minorUnits($0)) } ?? 0
    let currency = price?.currency ?? "XXX"
    var postings = [
      Posting(
        entry: 1, date: row.purchaseDate, debit: base + Account.receivable, credit: base + Account.sales,
        amount: amount, currency: currency)
    ]
    if row.statement == .revoked {
      postings.append(
        Posting(
          entry: 2, date: row.revocation?.date ?? row.signedDate, debit: base + Account.refunds,
          credit: base + Account.receivable, amount: refunded(amount, of: row), currency: currency))
    }
    return postings
  }

  /// Whether nothing was paid for it: it was shared, given, or restored.
  private static func isFree(_ row: TransactionRow, _ original: TransactionRow?) -> Bool {
    row.ownership == OwnershipType.familyShared.rawValue || row.reason == "PROMOTION" || row.isFreeCopy(of: original)
  }

  /// Why the amount of a transaction's postings is not what was paid; nil if it is, or if nothing was paid.
  static func unpricedReason(_ row: TransactionRow, original: TransactionRow? = nil) -> String? {
    if isFree(row, original) { return nil }
    guard let price = row.price else { return "the evidence states no usable price" }
    if price.milliunits < 0 { return "the evidence states the negative price \(price.decimal) \(price.currency)" }
    if price.namesCurrency { return nil }
    return "\(price.decimal) \(price.currency) is in no currency of ISO 4217"
  }

  private static func refunded(_ amount: Int64, of row: TransactionRow) -> Int64 {
    guard let revocation = row.refund, !revocation.isWhole(of: row.quantity) else { return amount }
    if let share = revocation.percentageMilli { return divided(amount, times: max(0, share), by: 100_000) }
    return divided(amount, times: max(0, revocation.quantity ?? 0), by: row.quantity)
  }

  static func minorUnits(_ price: Money) -> Int64 {
    switch Money.digits(of: price.currency) {
    case 0: divided(price.milliunits, times: 1, by: 1000)
    case 2: divided(price.milliunits, times: 1, by: 10)
    case 3: price.milliunits
    case let digits:
      // Four digits are more precise than the thousandths that stores state.
      price.milliunits.multipliedReportingOverflow(by: digits == 4 ? 10 : 1).partialValue
    }
  }

  /// value x factor / divisor, rounded half to even, with a full-width product; 0 for values that are not positive.
  static func divided(_ value: Int64, times factor: Int64, by divisor: Int64) -> Int64 {
    guard value > 0, factor > 0, divisor > 0 else { return 0 }
    let product = value.multipliedFullWidth(by: factor)
    guard product.high < divisor else { return Int64.max }
    let (quotient, remainder) = divisor.dividingFullWidth(product)
    let rest = divisor - remainder
    if remainder > rest || (remainder == rest && quotient % 2 != 0) { return quotient &+ 1 }
    return quotient
  }
}

extension TransactionRow {
  /// Whether a copy of another original brings no revenue: a restore does not; a renewal does, and a new purchase after
  /// the original was refunded.
  fileprivate func isFreeCopy(of original: TransactionRow?) -> Bool {
    guard !isOriginal else { return false }
    let isSubscription = productType.isSubscription || (productType == .unknown && expiresDate != nil)
    if let refundedAt = original?.refundDateAsOriginal, purchaseDate > refundedAt { return false }
    return !isSubscription
  }

  /// When an original was wholly refunded: copies bought later are paid for again. Nil for copies, since copies have no
  /// copies.
  var refundDateAsOriginal: Int64? { isOriginal ? wholeRefundDate : nil }

  /// When the whole price was refunded; nil if it was not.
  private var wholeRefundDate: Int64? {
    guard statement == .revoked else { return nil }
    return refund.flatMap { $0.isWhole(of: quantity) ? $0.date : nil }
  }
}

// MARK: - Storage

extension Posting {
  static let upsert = """
    INSERT INTO posting (store, environment, transaction_id, entry, date, debit, credit, amount, currency)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (store, environment, transaction_id, entry) DO UPDATE SET
      date = excluded.date, debit = excluded.debit, credit = excluded.credit, amount = excluded.amount,
      currency = excluded.currency
    """

  func bind(to statement: SQLiteStatement, key: RowKey) {
    statement.bind(1, key)
    statement.bind(4, entry)
    statement.bind(5, date)
    statement.bind(6, debit)
    statement.bind(7, credit)
    statement.bind(8, amount)
    statement.bind(9, currency)
  }
}
