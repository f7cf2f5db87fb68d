import Crypto
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of `store_transaction`: the least upper bound of all facts about one transaction (docs/explanation/ledger.md,
/// The fold).
struct TransactionRow: Sendable, Equatable {
  var key: RowKey
  var originalID: String
  /// Empty when unknown.
  var productID: String
  var productType: ProductType
  var purchaseDate: Int64
  var expiresDate: Int64?
  var quantity: Int64
  var ownership: String
  var price: Money?
  var reason: String
  var purchaseToken: String?
  var signedDate: Int64
  var statement: Statement
  var trust: Trust
  /// The revocation of the latest fact; `refund` combines all facts.
  var revocation: Revocation?
  /// The partial refunds of a purchase of several items (Google).
  var voided: PartialRefunds
  var token: UUID?
  var tokenDate: Int64?
  var isAcknowledged: Bool
  /// The versions of fields whose value comes from another fact than the state.
  var versions: FieldVersions

  /// The row of a single fact.
  ///
  /// - Parameter revision: An operator's decision for the fact.
  /// - Precondition: The fact's environment has a code.
  init(_ fact: StoreTransaction, revision: Revision? = nil) {
    guard let key = RowKey(fact.key) else { preconditionFailure("environment \(fact.environment) is never recorded") }
    self.key = key
    originalID = fact.originalTransactionID
    productID = fact.productID ?? ""
    productType = fact.productType
    purchaseDate = fact.purchaseDate
    expiresDate = fact.expiresDate
    quantity = fact.quantity
    ownership = fact.ownership.rawValue
    price = fact.price
    reason = fact.reason
    purchaseToken = fact.purchaseToken
    signedDate = fact.signedDate
    statement = fact.statement
    trust = fact.trust
    revocation = fact.revocation
    voided = PartialRefunds(fact)
    let stated = fact.appAccountToken.flatMap { $0.isNil ? nil : $0 }
    token = stated?.uuid
    tokenDate = stated == nil ? nil : fact.signedDate
    isAcknowledged = fact.isAcknowledged
    versions = FieldVersions()
    versions = Self.versions(of: self, revision: revision)
  }

  init(
    key: RowKey, originalID: String, productID: String, productType: ProductType, purchaseDate: Int64,
    expiresDate: Int64?, quantity: Int64, ownership: String, price: Money?, reason: String, purchaseToken: String?,
    signedDate: Int64, statement: Statement, trust: Trust, revocation: Revocation?, voided: PartialRefunds,
    token: UUID?, tokenDate: Int64?, isAcknowledged: Bool, versions: FieldVersions
  ) {
    self.key = key
    self.originalID = originalID
    self.productID = productID
    self.productType = productType
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.quantity = quantity
    self.ownership = ownership
    self.price = price
    self.reason = reason
    self.purchaseToken = purchaseToken
    self.signedDate = signedDate
    self.statement = statement
    self.trust = trust
    self.revocation = revocation
    self.voided = voided
    self.token = token
    self.tokenDate = tokenDate
    self.isAcknowledged = isAcknowledged
    self.versions = versions
  }

  var isOriginal: Bool { key.id == originalID }
  var grant: RowKey { key.with(id: originalID) }

  /// The revocation with the items of all partial refunds.
  var refund: Revocation? {
    guard var refund = revocation, refund.quantity != nil else { return revocation }
    refund.quantity = max(refund.quantity ?? 0, voided.count)
    return refund
  }

  /// The 16 bytes that `reconcile` compares: all fields except dates and trust of the facts, the account token and the
  /// acknowledgement.
  var digest: [UInt8] {
    var encoder = CanonicalEncoder(reserving: 256)
    encoder.text(originalID)
    encoder.text(productID)
    encoder.text(productType.rawValue)
    encoder.i64(purchaseDate)
    encoder.optional(expiresDate) { $0.i64($1) }
    encoder.i64(quantity)
    encoder.text(ownership)
    encoder.optional(price) {
      $0.i64($1.milliunits)
      $0.text($1.currency)
    }
    encoder.text(reason)
    encoder.optional(purchaseToken) { $0.text($1) }
    encoder.u8((statement == .reversed ? .purchased : statement).rawValue)
    encoder.optional(refund) { $1.encode(into: &$0) }
    return [UInt8](SHA256.hash(data: encoder.bytes).prefix(16))
  }
}

// MARK: - Storage

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

  func bind(to statement: SQLiteStatement, digest: [UInt8]) {
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
    statement.bind(28, versions.isEmpty ? nil : versions.bytes)
  }

  /// Reads a row selected as `columns`.
  init(_ row: SQLiteStatement) {
    let price: Money? =
      row.isNull(13) ? nil : Money(milliunits: row.int64(13), currency: row.text(14))
    let revocation: Revocation? =
      row.isNull(20)
      ? nil
      : Revocation(
        date: row.int64(20), reason: row.optionalText(21), percentageMilli: row.optionalInt64(22),
        type: row.optionalText(23), quantity: row.optionalInt64(24))
    self.init(
      key: RowKey(row),
      originalID: row.text(6), productID: row.text(7), productType: ProductType(rawValue: row.text(8)),
      purchaseDate: row.int64(9), expiresDate: row.optionalInt64(10), quantity: row.int64(11), ownership: row.text(12),
      price: price, reason: row.text(15), purchaseToken: row.optionalText(16), signedDate: row.int64(17),
      statement: Statement(rawValue: UInt8(truncatingIfNeeded: row.int64(18))) ?? .pending,
      trust: Trust(rawValue: UInt8(truncatingIfNeeded: row.int64(19))) ?? .unsigned, revocation: revocation,
      voided: row.isNull(25) ? PartialRefunds() : PartialRefunds(row.blob(25)), token: row.uuid(4),
      tokenDate: row.optionalInt64(5), isAcknowledged: row.int64(26) != 0,
      versions: row.isNull(27) ? FieldVersions() : FieldVersions(row.blob(27)))
  }
}

/// The partial refunds of one purchase by date. Each revokes some items; their sum says how many are left.
///
/// Joined like sets: overlapping lists count nothing twice.
struct PartialRefunds: Sendable, Equatable {
  /// Dates in milliseconds since 1970 and numbers of items, sorted by date.
  private var entries: [(date: Int64, count: Int64)] = []

  static func == (a: Self, b: Self) -> Bool { a.entries.elementsEqual(b.entries, by: ==) }

  init() {}

  init(_ fact: StoreTransaction) {
    guard let revocation = fact.revocation, let count = revocation.quantity else { return }
    entries = [(revocation.date, count)]
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Those that the store dated until a time.
  func until(_ time: Int64) -> Self {
    var earlier = self
    earlier.entries.removeAll { $0.date > time }
    return earlier
  }

  /// The number of revoked items.
  var count: Int64 {
    entries.reduce(0) { sum, entry in
      let (sum, overflow) = sum.addingReportingOverflow(max(0, entry.count))
      return overflow ? .max : sum
    }
  }

  mutating func join(_ other: Self) {
    for entry in other.entries {
      if let place = entries.firstIndex(where: { $0.date == entry.date }) {
        entries[place].count = max(entries[place].count, entry.count)
      } else {
        entries.insert(entry, at: entries.firstIndex { $0.date > entry.date } ?? entries.endIndex)
      }
    }
  }

  // MARK: Storage

  /// Dates and counts in the canonical encoding.
  var bytes: [UInt8] {
    var encoder = CanonicalEncoder()
    for entry in entries {
      encoder.i64(entry.date)
      encoder.i64(entry.count)
    }
    return encoder.bytes
  }

  init(_ bytes: [UInt8]) {
    var decoder = CanonicalDecoder(bytes)
    while let date = try? decoder.i64(), let count = try? decoder.i64() { entries.append((date, count)) }
  }
}
