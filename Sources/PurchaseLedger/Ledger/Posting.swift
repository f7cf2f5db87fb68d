/// An entry of the books: one debit, one credit, one amount, so that it balances by itself.
struct Posting: Sendable, Equatable {
  /// 1 sale, 2 refund.
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
  /// `assets:receivable`, `income:sales`, `income:refunds`; the sandbox's are ten greater.
  enum Account {
    static let receivable: Int64 = 1
    static let sales: Int64 = 2
    static let refunds: Int64 = 3
    static let sandbox: Int64 = 10
  }

  /// The postings of a transaction: what holds now, not what happened.
  ///
  /// - Parameter original: Of a copy the transaction that it names as its original, if that is known.
  static func postings(of row: TransactionRow, original: TransactionRow? = nil) -> [Posting] {
    guard row.statement != .pending else { return [] }
    let base = row.key.environment == 1 ? 0 : Account.sandbox
    let isFree =
      row.ownership == OwnershipType.familyShared.rawValue || row.reason == "PROMOTION"
      || row.isFreeCopy(of: original)
    let price = isFree ? nil : row.price
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

  private static func refunded(_ amount: Int64, of row: TransactionRow) -> Int64 {
    guard let revocation = row.refund, !revocation.isWhole(of: row.quantity) else { return amount }
    if let share = revocation.percentageMilli { return divided(amount, times: max(0, share), by: 100_000) }
    return divided(amount, times: max(0, revocation.quantity ?? 0), by: row.quantity)
  }

  static func minorUnits(_ price: Money) -> Int64 {
    switch digits(of: price.currency) {
    case 0: divided(price.milliunits, times: 1, by: 1000)
    case 2: divided(price.milliunits, times: 1, by: 10)
    case 3: price.milliunits
    case let digits:
      // Four digits are finer than a store states.
      price.milliunits.multipliedReportingOverflow(by: digits == 4 ? 10 : 1).partialValue
    }
  }

  /// A price as people write it: with the digits of its currency, and with more where it has them.
  static func decimal(_ price: Money) -> String {
    let milli = price.milliunits.magnitude
    var fraction = String(String(1000 + milli % 1000).dropFirst())
    while fraction.count > digits(of: price.currency), fraction.hasSuffix("0") { fraction.removeLast() }
    return (price.milliunits < 0 ? "-" : "") + "\(milli / 1000)" + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// value x factor / divisor, halves to even, without losing bits between; for values that are not negative.
  static func divided(_ value: Int64, times factor: Int64, by divisor: Int64) -> Int64 {
    guard value > 0, factor > 0, divisor > 0 else { return 0 }
    let product = value.multipliedFullWidth(by: factor)
    guard product.high < divisor else { return Int64.max }
    let (quotient, remainder) = divisor.dividingFullWidth(product)
    let rest = divisor - remainder
    if remainder > rest || (remainder == rest && quotient % 2 != 0) { return quotient &+ 1 }
    return quotient
  }

  /// Digits of the minor unit in ISO 4217; two where the table does not say otherwise.
  static func digits(of currency: String) -> Int {
    switch currency {
    case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
      "XOF", "XPF":
      0
    case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
    case "CLF", "UYW": 4
    default: 2
    }
  }
}

extension TransactionRow {
  /// A copy under another original is a restore or a regrant and brings no money; a renewal does, and what was bought again after the original was paid
  /// back.
  fileprivate func isFreeCopy(of original: TransactionRow?) -> Bool {
    guard !isOriginal else { return false }
    let isSubscription = productType.isSubscription || (productType == .unknown && expiresDate != nil)
    if let refundedAt = original?.refundDateAsOriginal, purchaseDate > refundedAt { return false }
    return !isSubscription
  }

  /// When it was wholly paid back, so that what is bought under it afterwards is paid for again. Nil also of what is a copy itself: a grant has no copies of copies.
  var refundDateAsOriginal: Int64? { isOriginal ? wholeRefundDate : nil }

  /// When all of the price went back; nil if it did not.
  private var wholeRefundDate: Int64? {
    guard statement == .revoked else { return nil }
    return refund.flatMap { $0.isWhole(of: quantity) ? $0.date : nil }
  }
}
